// Which part of the service answers a request, by its path: a route that has this very path, else one that has
// everything below a prefix, else nobody.
import { NotFound } from "@punctual/api/Problem"
import type { RouteMetrics } from "./HttpMetrics.ts"
import { problemResponse } from "./problemResponse.ts"
import type { Route } from "./Route.ts"

/** Answers every request below a prefix by itself, whatever its method. */
export interface PrefixRoute {
  /** Begins and ends with a slash. */
  readonly prefix: string
  handle(request: Request): Promise<Response>
}

export interface RouterOptions {
  /** By path. */
  readonly routes: ReadonlyMap<string, Route>
  /** In the order in which they are tried. */
  readonly prefixes: ReadonlyArray<PrefixRoute>
  /** Counts what no route answers. */
  readonly unknown: RouteMetrics
}

export class Router {
  readonly #options: RouterOptions

  constructor(options: RouterOptions) {
    this.#options = options
  }

  readonly handle = (request: Request): Promise<Response> => {
    const path = pathOf(request.url)
    const route = this.#options.routes.get(path)
    if (route !== undefined) {
      return request.method === "OPTIONS" ? Promise.resolve(optionsOf(route)) : route.handle(request)
    }
    const below = this.#options.prefixes.find(({ prefix }) => path.startsWith(prefix))
    if (below !== undefined) return below.handle(request)
    this.#options.unknown.answered(404, 0)
    return Promise.resolve(notFound())
  }
}

/** The path of a request's URL, which is absolute unless the request's `Host` was not usable. */
export const pathOf = (url: string): string => {
  const start = url.charCodeAt(0) === SLASH ? 0 : url.indexOf("/", url.indexOf("://") + 3)
  const query = url.indexOf("?", start)
  const path = query < 0 ? url.slice(start) : url.slice(start, query)
  const fragment = path.indexOf("#")
  return fragment < 0 ? path : path.slice(0, fragment)
}

const SLASH = 47

const optionsOf = ({ methods }: Route): Response =>
  new Response(null, { status: 204, headers: { allow: [...methods, "OPTIONS"].join(", ") } })

const notFound = (): Response =>
  problemResponse(new NotFound({ detail: "See /docs/api for what there is." }), { closes: true })
