// Finds the handler of a request by its path: a route with exactly this path, or a route for everything below a prefix.
import { NotFound } from "@punctual/api/Problem"
import type { HttpAnswer } from "./HttpAnswer.ts"
import type { RouteMetrics } from "./HttpMetrics.ts"
import type { HttpRequest } from "./HttpRequest.ts"
import { problemResponse } from "./problemResponse.ts"
import type { Route } from "./Route.ts"

/** Answers every request below a prefix, for all methods. */
export interface PrefixRoute {
  /** Begins and ends with a slash. */
  readonly prefix: string
  handle(request: HttpRequest): Promise<HttpAnswer>
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

  readonly handle = (request: HttpRequest): Promise<HttpAnswer> => {
    const { path } = request
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

const optionsOf = ({ methods }: Route): HttpAnswer => ({
  status: 204,
  headers: { allow: [...methods, "OPTIONS"].join(", ") },
  body: "",
})

const notFound = (): HttpAnswer => problemResponse(new NotFound({ detail: "See /docs/api for all paths." }))
