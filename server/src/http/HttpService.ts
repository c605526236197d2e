// All of HTTP as one function from request to response, without a server. The listener, tests and benchmarks call the
// same function.
import type { Limits } from "@punctual/api/Limits"
import { eventStreamPath } from "@punctual/api/TimerEvents"
import type { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import type { AuditTrail } from "@punctual/door/AuditTrail"
import type { Gate } from "@punctual/door/Gate"
import { CallerCheck } from "@punctual/http/CallerCheck"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import { authMetrics, refusalCounter, routeMetrics } from "@punctual/http/HttpMetrics"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { defaultBodyOptions, RequestBodies } from "@punctual/http/RequestBody"
import { RequestGuard, type RequestGuardOptions } from "@punctual/http/RequestGuard"
import { type PrefixRoute, Router } from "@punctual/http/Router"
import { settingName } from "@punctual/http/settingName"
import { Tracing } from "@punctual/telemetry/Tracing"
import { type Context, Effect, Option } from "effect"
import type { BulkJobs } from "../bulk/BulkJobs.ts"
import { callOf, makeCalls } from "../calls/Calls.ts"
import type { ClusterParts } from "../calls/ClusterCalls.ts"
import type { KeyParts } from "../calls/KeyCalls.ts"
import { usualAnswerMs } from "../calls/problemOf.ts"
import type { AboutService } from "../calls/ServiceCalls.ts"
import type { SessionParts } from "../calls/SessionCalls.ts"
import type { ActivityLog } from "../engine/activity/ActivityLog.ts"
import { Engine } from "../engine/Engine.ts"
import { EventHub } from "../engine/events/EventHub.ts"
import type { Scheduler } from "../engine/front/Scheduler.ts"
import type { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import type { Deliverers } from "../ports/Deliverer.ts"
import type { PeerEvents } from "../ports/PeerEvents.ts"
import { WallClock } from "../ports/WallClock.ts"
import { makeApiRoutes } from "./ApiRoutes.ts"
import { Availability } from "./Availability.ts"
import { callTexts } from "./CallText.ts"
import { largeBodyBytes } from "./callRefusals.ts"
import { eventStreamMetrics } from "./EventStreamMetrics.ts"
import { EventStreams } from "./EventStreams.ts"
import { namePrefix } from "./namePrefix.ts"
import type { PageRoutes } from "./PageRoutes.ts"
import { makeSiteRoutes } from "./SiteRoutes.ts"

export interface HttpServiceOptions {
  readonly limits: Limits
  readonly bodyTimeoutMs: number
  /** Asks the runtime to look for unused memory. */
  readonly freeMemory?: () => void
  readonly callsMax: number
  /** The program and its settings, for operators. */
  readonly about?: AboutService
  /** Which requests may come in. */
  readonly guard: RequestGuardOptions
  /** How long a call may wait for its answer (default 60 s). */
  readonly answerTimeoutMs?: number
  /** More metrics, as Prometheus text. */
  readonly moreMetrics?: Effect.Effect<string>
  /** The messages that could not be handled; present if there is a bus. */
  readonly messages?: UndeliverableMessages["Service"]
  /** Another reason why the service is not ready. */
  readonly whyNotReady?: () => string | undefined
  /** The keys of the service. If they are absent, everyone may do everything. */
  readonly keys?: KeyParts & SessionParts & { readonly gate: Gate }
  /** Whether the metrics are shown without a key. */
  readonly metricsAreOpen?: boolean
  /** The console and the reference. */
  readonly pageRoutes: PageRoutes
  /** Present if several nodes share the store. */
  readonly cluster?: ClusterParts & {
    /** Answers calls of other nodes, also while this node stops and still owns shards. */
    readonly peers: PrefixRoute
    /** The events of other nodes. */
    readonly events?: PeerEvents["Service"] | undefined
  }
}

export interface HttpService {
  handle(request: HttpRequest): Promise<HttpAnswer>
  /**
   * From now on calls are answered with 503, except for the cluster. Health, metrics and the reference still answer.
   */
  close(): void
}

const forbiddenStatus = 403
const sessionEndPath = "/api/v1/sessions/end"

export const makeHttpService = (
  options: HttpServiceOptions,
): Effect.Effect<
  HttpService,
  never,
  Scheduler | Deliverers | Engine | NamespaceDirectory | WallClock | AuditTrail | BulkJobs | ActivityLog
> =>
  Effect.gen(function* () {
    const { limits, cluster } = options
    const isOneOfSeveral = cluster !== undefined
    const engine = yield* Engine
    const availability = new Availability(engine, isOneOfSeveral)
    const calls = yield* makeCalls({
      limits,
      ...(options.about === undefined ? {} : { about: options.about }),
      ...(cluster === undefined ? {} : { cluster }),
      ...(options.messages === undefined ? {} : { messages: options.messages }),
      ...(options.keys === undefined ? {} : { keys: options.keys }),
    })
    const context = yield* Effect.context<never>()
    const { corsOrigins } = options.guard
    const callerCheck =
      options.keys === undefined
        ? {}
        : { callerCheck: new CallerCheck(options.keys.gate, authMetrics(namePrefix, context), corsOrigins) }
    const tracing = Option.getOrUndefined(yield* Effect.serviceOption(Tracing))
    const apiRoutes = yield* makeApiRoutes({
      limits,
      ...(tracing === undefined ? {} : { tracing }),
      callOf: (endpoint) => callOf(calls, endpoint),
      texts: callTexts,
      bodies: new RequestBodies({
        ...defaultBodyOptions,
        timeoutMs: options.bodyTimeoutMs,
        timeoutSetting: settingName(namePrefix, "BODY_TIMEOUT"),
        ...(options.freeMemory === undefined
          ? {}
          : { afterLarge: { bytes: largeBodyBytes, run: options.freeMemory } }),
      }),
      answerTimeoutMs: options.answerTimeoutMs ?? usualAnswerMs,
      callsMax: options.callsMax,
      whyClosed: () => availability.whyClosed(),
      ...callerCheck,
    })
    const siteRoutes = yield* makeSiteRoutes({
      isStopping: () => availability.isStopping,
      isOneOfSeveral,
      ...callerCheck,
      ...(options.metricsAreOpen === undefined ? {} : { metricsAreOpen: options.metricsAreOpen }),
      ...(options.moreMetrics === undefined ? {} : { moreMetrics: options.moreMetrics }),
      ...(options.whyNotReady === undefined ? {} : { whyNotReady: options.whyNotReady }),
    })
    const streams = new EventStreams({
      hub: hubOf(engine, yield* WallClock, cluster?.events, context),
      whyClosed: () => availability.whyClosed(),
      metrics: { ...routeMetrics(namePrefix, eventStreamPath, context), ...eventStreamMetrics(context) },
      ...callerCheck,
    })
    const unknown = routeMetrics(namePrefix, "other", context)
    const router = new Router({
      routes: new Map([
        ...apiRoutes,
        ...siteRoutes,
        ...options.pageRoutes.routes,
        [eventStreamPath, streams],
      ]),
      prefixes: cluster === undefined ? [] : [cluster.peers],
      unknown,
    })
    const countRefusal = refusalCounter(namePrefix, context)
    const guard = new RequestGuard(options.guard, {
      handle: (request) => {
        // A session is not stored, so only the streams of this node can end with it.
        if (request.path === sessionEndPath) streams.endSession(request.headers.get("cookie"))
        return router.handle(request)
      },
      namePrefix,
      pages: options.pageRoutes.linkable,
      onRefused: (reason) => {
        unknown.answered(forbiddenStatus, 0)
        countRefusal(reason)
      },
    })
    const close = () => {
      availability.stop()
      streams.endAll()
    }
    return { handle: guard.handle, close }
  })

/** Other nodes are asked for events if they live. A node that has left or that is silent for long has none. */
const hubOf = (
  engine: Engine["Service"],
  { now: wallMs }: WallClock["Service"],
  events: PeerEvents["Service"] | undefined,
  context: Context.Context<never>,
): EventHub => {
  const others = () => {
    const { node: own, members } = engine.cluster()
    return members.filter(({ node, address, isLive }) => isLive && node !== own && address !== "")
  }
  return new EventHub({
    feed: engine.events,
    wallMs,
    runFork: Effect.runForkWith(context),
    ...(events === undefined ? {} : { cluster: { events, others } }),
  })
}
