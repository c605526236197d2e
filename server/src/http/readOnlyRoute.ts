// A route that only shows something: it answers GET and HEAD, and counts its answers.
import { MethodNotAllowed } from "@punctual/api/Problem"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import type { RouteMetrics } from "@punctual/http/HttpMetrics"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { problemResponse } from "@punctual/http/problemResponse"
import type { Route } from "@punctual/http/Route"

export type SiteAnswer = (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>

export const readOnlyRoute = (path: string, answer: SiteAnswer, metrics: RouteMetrics): Route => ({
  methods: ["GET", "HEAD"],
  handle: async (request) => {
    const startedAt = performance.now()
    const response =
      request.method === "GET" || request.method === "HEAD"
        ? await answer(request)
        : problemResponse(new MethodNotAllowed({ detail: `Use GET for ${path}.` }), { allow: "GET, HEAD" })
    metrics.answered(response.status, performance.now() - startedAt)
    return response
  },
})
