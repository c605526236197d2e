// The whole of HTTP as one function from request to response, with no server in it: the listener, tests
// and benchmarks call the same one.
import type { Limits } from "@punctual/api/Limits"
import { NotFound, OwnerUnavailable, type Problem } from "@punctual/api/Problem"
import type { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Effect } from "effect"
import { longestAdvanceMs } from "../engine/clock/ClockAdvance.ts"
import { Engine, type EngineStatus } from "../engine/Engine.ts"
import type { Scheduler } from "../engine/front/Scheduler.ts"
import type { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import type { Deliverers } from "../ports/Deliverer.ts"
import type { WallClock } from "../ports/WallClock.ts"
import type { ApiHandler } from "./ApiCall.ts"
import { makeApiRoutes } from "./ApiRoutes.ts"
import { makeClockHandlers } from "./ClockHandlers.ts"
import { type ClusterParts, makeClusterHandlers } from "./ClusterHandlers.ts"
import { makeDeadLetterHandlers } from "./DeadLetterHandlers.ts"
import { Deadlines } from "./Deadlines.ts"
import { routeMetrics } from "./HttpMetrics.ts"
import { makeMessageHandlers } from "./MessageHandlers.ts"
import { makeNamespaceHandlers } from "./NamespaceHandlers.ts"
import { problemResponse } from "./problemResponse.ts"
import { makeReference } from "./Reference.ts"
import { defaultBodyOptions, RequestBodies } from "./RequestBody.ts"
import type { Route } from "./Route.ts"
import { makeServiceHandlers } from "./ServiceHandlers.ts"
import { makeSiteRoutes } from "./SiteRoutes.ts"
import { makeTimerHandlers } from "./TimerHandlers.ts"

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
    /** Answers what other nodes ask, below `path`: also while this one stops, for as long as it owns anything. */
    readonly peers: { readonly path: string; readonly handle: (request: Request) => Promise<Response> }
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
    const { cluster } = options
    const engine = yield* Engine
    const context = yield* Effect.context<never>()
    let isClosed = false
    let waits: Problem | undefined
    let lookedAt = Number.NEGATIVE_INFINITY
    const whyClosed = (name: string): Problem | undefined => {
      // Most of all when it waits or stops, operators want to see who does not.
      if (name === "cluster") return undefined
      if (isClosed) return stopping()
      // A status costs more than a call should: it is asked for once in a while, and the engine refuses
      // by itself what it cannot take in between.
      const now = performance.now()
      if (now - lookedAt > statusAgeMs) {
        lookedAt = now
        waits = whyWaiting(engine.status(), cluster !== undefined)
      }
      return waits
    }
    const apiRoutes = yield* makeApiRoutes({
      limits: options.limits,
      handlers: {
        ...(yield* makeTimerHandlers(options.limits)),
        ...(yield* makeDeadLetterHandlers),
        ...(yield* makeClusterHandlers(cluster ?? {})),
        ...(yield* makeClockHandlers),
        ...(yield* makeNamespaceHandlers(options.limits)),
        ...(yield* makeServiceHandlers),
        ...makeMessageHandlers(options.messages),
      } satisfies Record<string, ApiHandler<never>>,
      bodies: new RequestBodies({ ...defaultBodyOptions, timeoutMs: options.bodyTimeoutMs }),
      answers: new Deadlines(options.answerTimeoutMs ?? answerTimeoutMs),
      // It ends by itself before that, and says how far it has come.
      longAnswers: { advance: new Deadlines(longestAdvanceMs + answerTimeoutMs) },
      callsMax: options.callsMax,
      whyClosed,
    })
    const siteRoutes = yield* makeSiteRoutes({
      reference: makeReference(options.limits),
      isStopping: () => isClosed,
      isOneOfSeveral: cluster !== undefined,
      ...(options.moreMetrics === undefined ? {} : { moreMetrics: options.moreMetrics }),
      ...(options.whyNotReady === undefined ? {} : { whyNotReady: options.whyNotReady }),
    })
    const routes = new Map<string, Route>([...apiRoutes, ...siteRoutes])
    const unknown = routeMetrics("other", context)
    return {
      handle: (request) => {
        const path = pathOf(request.url)
        const route = routes.get(path)
        if (route === undefined) {
          if (cluster !== undefined && path.startsWith(cluster.peers.path))
            return cluster.peers.handle(request)
          unknown.answered(404, 0)
          return Promise.resolve(notFound())
        }
        return request.method === "OPTIONS" ? Promise.resolve(optionsOf(route)) : route.handle(request)
      },
      close: () => {
        isClosed = true
      },
    }
  })

/** The path of a request's URL, which is absolute unless the request's `Host` was not usable. */
export const pathOf = (url: string): string => {
  const start = url.charCodeAt(0) === SLASH ? 0 : url.indexOf("/", url.indexOf("://") + 3)
  const query = url.indexOf("?", start)
  const path = query < 0 ? url.slice(start) : url.slice(start, query)
  const fragment = path.indexOf("#")
  return fragment < 0 ? path : path.slice(0, fragment)
}

const SLASH = 47

const statusAgeMs = 50
const answerTimeoutMs = 60_000

const optionsOf = ({ methods }: Route): Response =>
  new Response(null, { status: 204, headers: { allow: [...methods, "OPTIONS"].join(", ") } })

const notFound = (): Response =>
  problemResponse(new NotFound({ detail: "See /docs for what there is." }), { closes: true })

const stopping = (): Problem =>
  new OwnerUnavailable({
    detail: "The service is stopping. Nothing was written: try again, elsewhere or after a restart.",
    retryAfterSeconds: 5,
  })

/**
 * A node that owns nothing carries calls to those that do, and knows what to do with those of a shard that has no owner
 * for the moment, as one that is being handed over: it only needs to have seen the shards at all.
 */
const whyWaiting = (status: EngineStatus, isOneOfSeveral: boolean): Problem | undefined => {
  if (!status.isWaiting) return undefined
  if (!isOneOfSeveral) return waitingToTakeOver()
  return status.shards > 0 ? undefined : waitingForShards()
}

const waitingToTakeOver = (): Problem =>
  new OwnerUnavailable({
    detail: "Another process owns the store and this one waits to take over. Nothing was written.",
    retryAfterSeconds: 5,
  })

const waitingForShards = (): Problem =>
  new OwnerUnavailable({
    detail: "This node has not seen the shards of its store yet. Nothing was written: try again.",
    retryAfterSeconds: 1,
  })
