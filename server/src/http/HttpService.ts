// The whole of HTTP as one function from request to response, with no server in it: the listener, tests
// and benchmarks call the same one.
import type { Limits } from "@punctual/api/Limits"
import type { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Effect } from "effect"
import { callOf, makeCalls } from "../calls/Calls.ts"
import type { ClusterParts } from "../calls/ClusterCalls.ts"
import { usualAnswerMs } from "../calls/problemOf.ts"
import { Engine } from "../engine/Engine.ts"
import type { Scheduler } from "../engine/front/Scheduler.ts"
import type { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import type { Deliverers } from "../ports/Deliverer.ts"
import type { WallClock } from "../ports/WallClock.ts"
import { makeApiRoutes } from "./ApiRoutes.ts"
import { Availability } from "./Availability.ts"
import { callTexts } from "./CallText.ts"
import { routeMetrics } from "./HttpMetrics.ts"
import { defaultBodyOptions, RequestBodies } from "./RequestBody.ts"
import { type PrefixRoute, Router } from "./Router.ts"
import { makeReference } from "./reference/Reference.ts"
import { makeSiteRoutes } from "./SiteRoutes.ts"

export interface HttpServiceOptions {
  readonly limits: Limits
  readonly bodyTimeoutMs: number
  readonly callsMax: number
  /** How long a call may wait for its answer; 60 s unless a test says otherwise. */
  readonly answerTimeoutMs?: number
  /** What else is measured, as Prometheus text. */
  readonly moreMetrics?: Effect.Effect<string>
  /** The messages that could not be handled, where there is a bus. */
  readonly messages?: UndeliverableMessages["Service"]
  /** What else keeps the service from being ready. */
  readonly whyNotReady?: () => string | undefined
  /** Where this node is one of several that share a store. */
  readonly cluster?: ClusterParts & {
    /** Answers what other nodes ask: also while this one stops, for as long as it owns anything. */
    readonly peers: PrefixRoute
  }
}

export interface HttpService {
  handle(request: Request): Promise<Response>
  /** From now on timers are answered 503; what others see of the cluster, health, metrics and the reference keep answering. */
  close(): void
}

export const makeHttpService = (
  options: HttpServiceOptions,
): Effect.Effect<HttpService, never, Scheduler | Deliverers | Engine | NamespaceDirectory | WallClock> =>
  Effect.gen(function* () {
    const { limits, cluster } = options
    const isOneOfSeveral = cluster !== undefined
    const availability = new Availability(yield* Engine, isOneOfSeveral)
    const calls = yield* makeCalls({
      limits,
      ...(cluster === undefined ? {} : { cluster }),
      ...(options.messages === undefined ? {} : { messages: options.messages }),
    })
    const apiRoutes = yield* makeApiRoutes({
      limits,
      callOf: (endpoint) => callOf(calls, endpoint),
      texts: callTexts,
      bodies: new RequestBodies({ ...defaultBodyOptions, timeoutMs: options.bodyTimeoutMs }),
      answerTimeoutMs: options.answerTimeoutMs ?? usualAnswerMs,
      callsMax: options.callsMax,
      whyClosed: () => availability.whyClosed(),
    })
    const siteRoutes = yield* makeSiteRoutes({
      reference: makeReference(limits),
      isStopping: () => availability.isStopping,
      isOneOfSeveral,
      ...(options.moreMetrics === undefined ? {} : { moreMetrics: options.moreMetrics }),
      ...(options.whyNotReady === undefined ? {} : { whyNotReady: options.whyNotReady }),
    })
    const router = new Router({
      routes: new Map([...apiRoutes, ...siteRoutes]),
      prefixes: cluster === undefined ? [] : [cluster.peers],
      unknown: routeMetrics("other", yield* Effect.context<never>()),
    })
    return { handle: router.handle, close: () => availability.stop() }
  })
