// All of the agent's HTTP as one function from request to answer, without a server. The listener and tests call it.
import type { AgentEndpoint } from "@punctual/api/agent/agentEndpoints"
import { callEventsPath } from "@punctual/api/agent/callEventPaths"
import type { SubmittedCallAnswer } from "@punctual/api/agent/ServiceCallView"
import { OwnerUnavailable, type Problem, problemContentType } from "@punctual/api/Problem"
import { CallerCheck } from "@punctual/http/CallerCheck"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import { authMetrics, refusalCounter, routeMetrics } from "@punctual/http/HttpMetrics"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { consoleRoutes } from "@punctual/http/pages/ConsoleRoutes"
import type { PagePack } from "@punctual/http/pages/PagePack"
import { defaultBodyOptions, RequestBodies } from "@punctual/http/RequestBody"
import { RequestGuard, type RequestGuardOptions } from "@punctual/http/RequestGuard"
import { Router } from "@punctual/http/Router"
import { makeReference } from "@punctual/http/reference/Reference"
import { Effect, Metric } from "effect"
import { ServiceCalls } from "../calls/ServiceCalls.ts"
import { type AgentCalls, makeAgentCalls } from "./AgentCalls.ts"
import { makeAgentRoutes, type ServedCall } from "./AgentRoutes.ts"
import { type AgentKeys, makeAgentKeyCalls } from "./agentKeyCalls.ts"
import { agentPrefix } from "./agentNames.ts"
import { agentReference } from "./agentReference.ts"
import { type AgentHealth, agentPagePaths, makeAgentSite } from "./agentSite.ts"
import { CallStreams, type CallStreamsOptions } from "./CallStreams.ts"

export interface AgentHttpOptions {
  /** Which requests may come in. */
  readonly guard: RequestGuardOptions
  readonly health: AgentHealth
  /** If they are absent, everyone may do everything. */
  readonly keys?: AgentKeys
  readonly metricsAreOpen?: boolean
  readonly moreMetrics?: Effect.Effect<string>
  /** The pages of the UI, if they were built. */
  readonly pages?: PagePack
  /** Other processes change calls, too. */
  readonly pollsChanges: boolean
  /** The wall clock. */
  readonly nowMs: () => number
  readonly streamLimits?: CallStreamsOptions["limits"]
  readonly answerTimeoutMs?: number
}

export interface AgentHttp {
  handle(request: HttpRequest): Promise<HttpAnswer>
  /** From now on calls are answered with 503, and streams end. Health, metrics and the reference still answer. */
  close(): void
}

/** The limit of concurrent calls. Each holds a connection and at most one body. */
const callsMax = 1_024

const usualAnswerMs = 60_000
const forbiddenStatus = 403
const sessionEndPath = "/api/v1/sessions/end"

export const makeAgentHttp = (options: AgentHttpOptions): Effect.Effect<AgentHttp, never, ServiceCalls> =>
  Effect.gen(function* () {
    const calls = yield* ServiceCalls
    const context = yield* Effect.context<never>()
    let isStopping = false
    const whyClosed = () => (isStopping ? stopping() : undefined)
    const { guard, nowMs, keys } = options
    const callerCheck =
      keys === undefined
        ? {}
        : { callerCheck: new CallerCheck(keys.gate, authMetrics(agentPrefix, context), guard.corsOrigins) }
    const readers = Metric.gauge(`${agentPrefix}_event_readers`, { description: "Open streams of events." })
    readers.updateUnsafe(0, context)
    const streams = new CallStreams({
      calls,
      whyClosed,
      pollsChanges: options.pollsChanges,
      nowMs,
      context,
      metrics: {
        ...routeMetrics(agentPrefix, `GET ${callEventsPath}`, context),
        readers: (count) => readers.updateUnsafe(count, context),
      },
      ...callerCheck,
      ...(options.streamLimits === undefined ? {} : { limits: options.streamLimits }),
    })
    const api = makeAgentRoutes({
      served: servedBy(makeAgentCalls(calls), makeAgentKeyCalls(keys)),
      more: [{ method: "GET", path: callEventsPath, handle: streams.handle }],
      bodies: new RequestBodies(defaultBodyOptions),
      callsMax,
      answerTimeoutMs: options.answerTimeoutMs ?? usualAnswerMs,
      nowMs,
      whyClosed,
      context,
      ...callerCheck,
    })
    const pages = options.pages === undefined ? undefined : consoleRoutes(options.pages, "/")
    const unknown = routeMetrics(agentPrefix, "other", context)
    const router = new Router({
      routes: makeAgentSite({
        reference: makeReference(agentReference()),
        ...(pages === undefined ? {} : { pages }),
        isStopping: () => isStopping,
        health: options.health,
        metricsAreOpen: options.metricsAreOpen ?? false,
        ...(options.moreMetrics === undefined ? {} : { moreMetrics: options.moreMetrics }),
        context,
        ...callerCheck,
      }),
      prefixes: [api],
      unknown,
    })
    const countRefusal = refusalCounter(agentPrefix, context)
    const guarded = new RequestGuard(guard, {
      handle: (request) => {
        // A session is not stored, so only the streams of this process can end with it.
        if (request.path === sessionEndPath) streams.endSession(request.headers.get("cookie"))
        return router.handle(request)
      },
      namePrefix: agentPrefix,
      pages: new Set([...agentPagePaths, ...(pages?.pagePaths ?? [])]),
      methods: ["GET", "POST", "PATCH", "PUT"],
      headers: ["idempotency-key"],
      onRefused: (reason) => {
        unknown.answered(forbiddenStatus, 0)
        countRefusal(reason)
      },
    })
    return {
      handle: async (request) => withCorrelation(await guarded.handle(request), request),
      close: () => {
        isStopping = true
        streams.endAll()
      },
    }
  })

const servedBy =
  (calls: AgentCalls, keyCalls: Readonly<Record<string, ServedCall>>) =>
  ({ group, name }: AgentEndpoint): ServedCall => {
    const ofKeys = keyCalls[`${group}.${name}`]
    if (ofKeys !== undefined) return ofKeys
    if (!isCallName(name, calls)) throw new Error(`the endpoint ${group}.${name} has no call`)
    return name === "submit" || name === "runAgain"
      ? { call: calls[name], headersOf: locationOf }
      : { call: calls[name] }
  }

const isCallName = (name: string, calls: AgentCalls): name is keyof AgentCalls & string => name in calls

const locationOf = ({ call }: SubmittedCallAnswer) => ({
  location: `/api/v1/tenants/${call.tenantId}/service-calls/${encodeURIComponent(call.serviceCallId)}`,
})

const stopping = (): Problem =>
  new OwnerUnavailable({
    detail: "The agent is stopping. Nothing was written: retry after a restart.",
    retryAfterSeconds: 5,
    written: "no",
  })

/** Every failure names its request, so that a person can find it in the log. */
const withCorrelation = (answer: HttpAnswer, { requestId }: HttpRequest): HttpAnswer =>
  answer.headers["content-type"] === problemContentType && typeof answer.body === "string"
    ? { ...answer, body: `${answer.body.slice(0, -1)},"correlationId":${JSON.stringify(requestId)}}` }
    : answer
