// Finds the handler of a request by its path: a route with exactly this path, or a route for everything below a prefix.
import { NotFound } from "@punctual/api/Problem"
import type { RouteMetrics } from "./HttpMetrics.ts"
import { problemResponse } from "./problemResponse.ts"
import type { Route } from "./Route.ts"

/** Answers every request below a prefix, for all methods. */
export interface PrefixRoute {
  /** Begins and ends with a slash. */
  readonly prefix: string
  handle(request: Request): Promise<Response>
}

export interface RouterOptions {
  /** The keys are paths. */
  readonly routes: ReadonlyMap<string, Route>
  /** In the order in which they are tried. */
  readonly prefixes: ReadonlyArray<PrefixRoute>
  /** Counts the requests that no route answers. */
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

/** The path of a request's URL. The URL is absolute unless the `Host` of the request was not valid. */
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
  problemResponse(new NotFound({ detail: "See /docs/api for all paths." }), { closes: true })
