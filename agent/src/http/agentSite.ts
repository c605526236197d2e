// The paths beside the agent's API: its pages, health, metrics, the OpenAPI document and the reference page. They also
// answer while the agent drains.
import { MethodNotAllowed } from "@punctual/api/Problem"
import type { CallerCheck } from "@punctual/http/CallerCheck"
import { dataHeaders, type HttpAnswer, jsonAnswer } from "@punctual/http/HttpAnswer"
import { type RouteMetrics, routeMetrics } from "@punctual/http/HttpMetrics"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import type { ConsoleRoutes } from "@punctual/http/pages/ConsoleRoutes"
import { problemResponse } from "@punctual/http/problemResponse"
import type { Route } from "@punctual/http/Route"
import type { Reference } from "@punctual/http/reference/Reference"
import { type Context, Effect } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { agentPrefix } from "./agentNames.ts"

export interface AgentHealth {
  /** Loops that have made no progress for so long that only a restart helps. One sentence for each. */
  readonly stalls: () => ReadonlyArray<string>
  /** Why the agent should get no calls now. One sentence for each reason. */
  readonly whyNotReady: () => ReadonlyArray<string>
}

export interface AgentSiteOptions {
  readonly reference: Reference
  /** Absent if the pages were not built. */
  readonly pages?: ConsoleRoutes
  readonly isStopping: () => boolean
  readonly health: AgentHealth
  /** More metrics, as Prometheus text. */
  readonly moreMetrics?: Effect.Effect<string>
  readonly callerCheck?: CallerCheck
  readonly metricsAreOpen: boolean
  readonly context: Context.Context<never>
}

/** Other sites may link to these paths. They show nothing that is secret, and change nothing. */
export const agentPagePaths: ReadonlyArray<string> = ["/", "/docs", "/docs/", "/docs/api", "/docs/api/"]

type Answer = (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>

/** The keys are paths. */
export const makeAgentSite = (options: AgentSiteOptions): ReadonlyMap<string, Route> => {
  const { reference, pages, health, callerCheck, context } = options
  const run = Effect.runPromiseWith(context)
  const live = () => healthAnswer("live", "stalled", health.stalls())
  const ready = () =>
    healthAnswer("ready", "notReady", [
      ...(options.isStopping() ? ["The agent is draining: it is about to stop."] : []),
      ...health.whyNotReady(),
    ])
  const metrics = () =>
    run(Effect.all([PrometheusMetrics.format(), options.moreMetrics ?? Effect.succeed("")])).then(
      (texts): HttpAnswer => ({
        status: 200,
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", ...dataHeaders },
        body: texts.join(""),
      }),
    )
  const answers: Record<string, Answer> = {
    ...(pages === undefined ? { "/": redirectTo("docs/api") } : {}),
    "/health/live": withoutReasons(live, callerCheck),
    "/health/ready": withoutReasons(ready, callerCheck),
    "/metrics": async (request) =>
      (options.metricsAreOpen ? undefined : await callerCheck?.whyNot(request, "metrics.read")) ?? metrics(),
    "/openapi.json": reference.openApi,
    "/docs": redirectTo("docs/api"),
    "/docs/": redirectTo("api"),
    "/docs/api": reference.page,
    "/docs/api/": redirectTo("../api"),
    "/docs/api.css": reference.style,
    "/docs/api.js": reference.script,
    "/docs/api.svg": reference.icon,
  }
  const routes = new Map<string, Route>()
  // One label for all files of the pages, because their names change with each version.
  const ofPages = routeMetrics(agentPrefix, "/", context)
  for (const [path, answer] of pages?.answers ?? []) routes.set(path, readOnly(path, answer, ofPages))
  for (const [path, answer] of Object.entries(answers)) {
    routes.set(path, readOnly(path, answer, routeMetrics(agentPrefix, path, context)))
  }
  return routes
}

/** The address is relative, because a proxy may serve the agent below a path that the agent does not know. */
const redirectTo = (location: string) => (): HttpAnswer => ({ status: 302, headers: { location }, body: "" })

const healthAnswer = (status: string, otherwise: string, reasons: ReadonlyArray<string>): HttpAnswer =>
  reasons.length === 0
    ? jsonAnswer(JSON.stringify({ status }))
    : jsonAnswer(JSON.stringify({ status: otherwise, reasons }), 503)

/** A stranger learns only whether the agent works, not how it is built. Probes need no more. */
const withoutReasons =
  (answer: () => HttpAnswer, callerCheck: CallerCheck | undefined): Answer =>
  (request) => {
    const whole = answer()
    if (whole.status === 200 || callerCheck === undefined || callerCheck.may(request, "service.read"))
      return whole
    return { ...whole, body: JSON.stringify({ status: JSON.parse(String(whole.body)).status }) }
  }

const readOnly = (path: string, answer: Answer, metrics: RouteMetrics): Route => ({
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
