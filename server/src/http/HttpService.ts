// The whole of HTTP as one function from request to response, with no server in it: the listener, tests
// and benchmarks call the same one.
import type { Limits } from "@punctual/api/Limits"
import { NotFound, OwnerUnavailable, type Problem } from "@punctual/api/Problem"
import { Effect } from "effect"
import { Engine } from "../engine/Engine.ts"
import type { Scheduler } from "../engine/Scheduler.ts"
import type { Deliverers } from "../ports/Deliverer.ts"
import type { WallClock } from "../ports/WallClock.ts"
import type { ApiHandler } from "./ApiCall.ts"
import { makeApiRoutes } from "./ApiRoutes.ts"
import { Deadlines } from "./Deadlines.ts"
import { routeMetrics } from "./HttpMetrics.ts"
import { problemResponse } from "./problemResponse.ts"
import { makeReference } from "./Reference.ts"
import { defaultBodyOptions, RequestBodies } from "./RequestBody.ts"
import type { Route } from "./Route.ts"
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
}

export interface HttpService {
  handle(request: Request): Promise<Response>
  /** From now on the API answers 503; health, metrics and the reference keep answering. */
  close(): void
}

export const makeHttpService = (
  options: HttpServiceOptions,
): Effect.Effect<HttpService, never, Scheduler | Deliverers | Engine | WallClock> =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const context = yield* Effect.context<never>()
    let isClosed = false
    let isWaiting = false
    let lookedAt = Number.NEGATIVE_INFINITY
    const whyClosed = (): Problem | undefined => {
      if (isClosed) return stopping()
      // A status costs more than a call should: it is asked for once in a while, and the engine refuses
      // by itself what it cannot take in between.
      const now = performance.now()
      if (now - lookedAt > statusAgeMs) {
        lookedAt = now
        isWaiting = engine.status().isWaiting
      }
      return isWaiting ? waiting() : undefined
    }
    const apiRoutes = yield* makeApiRoutes({
      limits: options.limits,
      handlers: { ...(yield* makeTimerHandlers(options.limits)) } satisfies Record<string, ApiHandler<never>>,
      bodies: new RequestBodies({ ...defaultBodyOptions, timeoutMs: options.bodyTimeoutMs }),
      answers: new Deadlines(options.answerTimeoutMs ?? answerTimeoutMs),
      callsMax: options.callsMax,
      whyClosed,
    })
    const siteRoutes = yield* makeSiteRoutes({
      reference: makeReference(options.limits),
      isStopping: () => isClosed,
      ...(options.moreMetrics === undefined ? {} : { moreMetrics: options.moreMetrics }),
    })
    const routes = new Map<string, Route>([...apiRoutes, ...siteRoutes])
    const unknown = routeMetrics("other", context)
    return {
      handle: (request) => {
        const route = routes.get(pathOf(request.url))
        if (route === undefined) {
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

const waiting = (): Problem =>
  new OwnerUnavailable({
    detail: "Another process owns the store and this one waits to take over. Nothing was written.",
    retryAfterSeconds: 5,
  })
