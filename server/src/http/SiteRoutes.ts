// What is served beside the API: health, metrics, the OpenAPI document and the reference page. All of it
// keeps answering while the service waits for its store or drains.
import { MethodNotAllowed } from "@punctual/api/Problem"
import { Effect } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { Engine, type EngineStatus } from "../engine/Engine.ts"
import { routeMetrics } from "./HttpMetrics.ts"
import { problemResponse } from "./problemResponse.ts"
import type { Route } from "./Route.ts"
import type { Reference } from "./reference/Reference.ts"

export interface SiteOptions {
  readonly reference: Reference
  readonly isStopping: () => boolean
  /** Other nodes share the store, and what one does not own it carries to them. */
  readonly isOneOfSeveral?: boolean
  /** What else is measured, as Prometheus text. */
  readonly moreMetrics?: Effect.Effect<string>
  /** What else keeps the service from being ready. */
  readonly whyNotReady?: () => string | undefined
  readonly monotonicMs?: () => number
}

/** By path. */
export const makeSiteRoutes = (
  options: SiteOptions,
): Effect.Effect<ReadonlyMap<string, Route>, never, Engine> =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const { reference, isStopping, isOneOfSeveral = false, moreMetrics = Effect.succeed("") } = options
    const monotonicMs = options.monotonicMs ?? (() => performance.now())
    const context = yield* Effect.context<never>()
    const run = Effect.runPromiseWith(context)

    const stalls = new LastingStalls()
    /** Every look at health counts as one at the loops, whichever page was asked for. */
    const looked = () => {
      const status = engine.status()
      const isEnding = isStopping() || status.isDraining
      // Loops come to rest in a drain, which is bounded: a restart would only cut it short.
      return { status, isEnding, lasting: stalls.look(isEnding ? [] : status.stalledLoops, monotonicMs()) }
    }
    const live = (): Response => {
      const reasons = looked().lasting.map((loop) => `The loop ${loop} stays stalled: restart the service.`)
      return Response.json(reasons.length === 0 ? { status: "live" } : { status: "stalled", reasons }, {
        status: reasons.length === 0 ? 200 : 503,
      })
    }
    const ready = (): Response => {
      const { status, isEnding } = looked()
      const other = options.whyNotReady?.()
      const reasons = [
        ...whyNotReady(status, isEnding, isOneOfSeveral),
        ...(other === undefined ? [] : [other]),
      ]
      return Response.json(reasons.length === 0 ? { status: "ready" } : { status: "notReady", reasons }, {
        status: reasons.length === 0 ? 200 : 503,
      })
    }
    const metrics = () =>
      run(Effect.andThen(engine.sample, Effect.all([PrometheusMetrics.format(), moreMetrics]))).then(
        (texts) =>
          new Response(texts.join(""), {
            headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
          }),
      )
    const answers: Record<string, () => Response | Promise<Response>> = {
      "/": redirectTo("docs/api"),
      "/health/live": live,
      "/health/ready": ready,
      "/metrics": metrics,
      "/openapi.json": reference.openApi,
      "/docs": redirectTo("docs/api"),
      "/docs/": redirectTo("api"),
      "/docs/api": reference.page,
      "/docs/api/": redirectTo("../api"),
      "/docs/api.css": reference.style,
      "/docs/api.js": reference.script,
      "/docs/api.svg": reference.icon,
    }
    return new Map(
      Object.entries(answers).map(([path, answer]) => [
        path,
        readOnly(path, answer, routeMetrics(path, context)),
      ]),
    )
  })

/** The address is relative, because a proxy may serve the service below a path that the service does not know. */
const redirectTo = (location: string) => (): Response =>
  new Response(null, { status: 302, headers: { location } })

/** A loop that every look for this long has found stalled will hardly move again by itself. */
export const lastingAfterMs = 60_000

/**
 * Tells a stall that lasts, for which a restart is the cure, from one that passes, for which it is not. It
 * knows no more than the looks at it: a probe should look several times within `lastingAfterMs`.
 */
class LastingStalls {
  #seenSince = new Map<string, number>()

  /** The loops that this and every earlier look, for long enough, have found stalled. */
  look(stalledLoops: ReadonlyArray<string>, nowMs: number): ReadonlyArray<string> {
    this.#seenSince = new Map(stalledLoops.map((loop) => [loop, this.#seenSince.get(loop) ?? nowMs]))
    return stalledLoops.filter((loop) => nowMs - (this.#seenSince.get(loop) ?? nowMs) >= lastingAfterMs)
  }
}

const whyNotReady = (
  status: EngineStatus,
  isStopping: boolean,
  isOneOfSeveral: boolean,
): ReadonlyArray<string> => {
  const reasons: Array<string> = []
  if (isStopping) reasons.push("The service is draining: it is about to stop.")
  const { shards, ownedShards } = status
  if (status.isWaiting) {
    reasons.push("Another process owns what is meant for this one: it waits to take over.")
  } else if (!isOneOfSeveral && ownedShards < Math.max(1, shards)) {
    // Alone, it must have them all. One of several fires what it has and carries the rest: were a shard without an
    // owner a reason, every node would go out of rotation for it at once, and nobody would answer for the others.
    reasons.push(`The service owns ${ownedShards} of ${shards} shards so far.`)
  }
  for (const loop of status.stalledLoops) reasons.push(`The loop ${loop} has stopped making progress.`)
  return reasons
}

const readOnly = (
  path: string,
  answer: () => Response | Promise<Response>,
  metrics: ReturnType<typeof routeMetrics>,
): Route => ({
  methods: ["GET", "HEAD"],
  handle: async (request) => {
    const startedAt = performance.now()
    const response =
      request.method === "GET" || request.method === "HEAD"
        ? await answer()
        : problemResponse(new MethodNotAllowed({ detail: `Use GET for ${path}.` }), { allow: "GET, HEAD" })
    metrics.answered(response.status, performance.now() - startedAt)
    return response
  },
})
