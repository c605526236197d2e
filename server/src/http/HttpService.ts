// All of HTTP as one function from request to response, without a server. The listener, tests and benchmarks call the
// same function.
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
import type { HttpAnswer } from "./HttpAnswer.ts"
import { routeMetrics } from "./HttpMetrics.ts"
import type { HttpRequest } from "./HttpRequest.ts"
import { defaultBodyOptions, RequestBodies } from "./RequestBody.ts"
import { type PrefixRoute, Router } from "./Router.ts"
import { makeReference } from "./reference/Reference.ts"
import { makeSiteRoutes } from "./SiteRoutes.ts"

export interface HttpServiceOptions {
  readonly limits: Limits
  readonly bodyTimeoutMs: number
  readonly callsMax: number
  /** How long a call may wait for its answer (default 60 s). */
  readonly answerTimeoutMs?: number
  /** More metrics, as Prometheus text. */
  readonly moreMetrics?: Effect.Effect<string>
  /** The messages that could not be handled; present if there is a bus. */
  readonly messages?: UndeliverableMessages["Service"]
  /** Another reason why the service is not ready. */
  readonly whyNotReady?: () => string | undefined
  /** Present if several nodes share the store. */
  readonly cluster?: ClusterParts & {
    /** Answers calls of other nodes, also while this node stops and still owns shards. */
    readonly peers: PrefixRoute
  }
}

export interface HttpService {
  handle(request: HttpRequest): Promise<HttpAnswer>
  /**
   * From now on calls are answered with 503, except for the cluster. Health, metrics and the reference still answer.
   */
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
