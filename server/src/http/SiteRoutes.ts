// Health and metrics. They also answer while the service waits for its store or drains.
import type { CallerCheck } from "@punctual/http/CallerCheck"
import { dataHeaders, type HttpAnswer, jsonAnswer } from "@punctual/http/HttpAnswer"
import { routeMetrics } from "@punctual/http/HttpMetrics"
import type { Route } from "@punctual/http/Route"
import { Effect } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { Engine, type EngineStatus } from "../engine/Engine.ts"
import type { WaitsFor } from "../engine/ownership/Ownership.ts"
import { namePrefix } from "./namePrefix.ts"
import { readOnlyRoute, type SiteAnswer } from "./readOnlyRoute.ts"

export interface SiteOptions {
  readonly isStopping: () => boolean
  /** Other nodes share the store. A node forwards calls for shards that it does not own. */
  readonly isOneOfSeveral?: boolean
  /** More metrics, as Prometheus text. */
  readonly moreMetrics?: Effect.Effect<string>
  /** Another reason why the service is not ready. */
  readonly whyNotReady?: () => string | undefined
  readonly monotonicMs?: () => number
  /** Who may call. If it is absent, everyone may. */
  readonly callerCheck?: CallerCheck
  /** The metrics need no key. */
  readonly metricsAreOpen?: boolean
}

/** The keys are paths. */
export const makeSiteRoutes = (
  options: SiteOptions,
): Effect.Effect<ReadonlyMap<string, Route>, never, Engine> =>
  Effect.gen(function* () {
    const engine = yield* Engine
    const { isStopping, isOneOfSeveral = false, moreMetrics = Effect.succeed("") } = options
    const monotonicMs = options.monotonicMs ?? (() => performance.now())
    const context = yield* Effect.context<never>()
    const run = Effect.runPromiseWith(context)

    const stalls = new LastingStalls()
    /** Every request for health checks the loops, for both paths. */
    const looked = () => {
      const status = engine.status()
      const isEnding = isStopping() || status.isDraining
      // Loops stop during a drain. A drain has a time limit, so a restart would only interrupt it.
      return { status, isEnding, lasting: stalls.look(isEnding ? [] : status.stalledLoops, monotonicMs()) }
    }
    const live = (): HttpAnswer => {
      const reasons = looked().lasting.map((loop) => `The loop ${loop} stays stalled: restart the service.`)
      return reasons.length === 0
        ? healthAnswer({ status: "live" })
        : healthAnswer({ status: "stalled", reasons })
    }
    const ready = (): HttpAnswer => {
      const { status, isEnding } = looked()
      const other = options.whyNotReady?.()
      const reasons = [
        ...whyNotReady(status, isEnding, isOneOfSeveral),
        ...(other === undefined ? [] : [other]),
      ]
      return reasons.length === 0
        ? healthAnswer({ status: "ready" })
        : healthAnswer({ status: "notReady", reasons })
    }
    const metrics = () =>
      run(Effect.andThen(engine.sample, Effect.all([PrometheusMetrics.format(), moreMetrics]))).then(
        (texts): HttpAnswer => ({
          status: 200,
          headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", ...dataHeaders },
          body: texts.join(""),
        }),
      )
    const answers: Record<string, SiteAnswer> = {
      "/health/live": withoutReasons(live, options.callerCheck),
      "/health/ready": withoutReasons(ready, options.callerCheck),
      "/metrics": async (request) =>
        (options.metricsAreOpen === true
          ? undefined
          : await options.callerCheck?.whyNot(request, "metrics.read")) ?? metrics(),
    }
    return new Map(
      Object.entries(answers).map(([path, answer]) => [
        path,
        readOnlyRoute(path, answer, routeMetrics(namePrefix, path, context)),
      ]),
    )
  })

const healthAnswer = (health: {
  readonly status: string
  readonly reasons?: ReadonlyArray<string>
}): HttpAnswer => jsonAnswer(JSON.stringify(health), health.reasons === undefined ? 200 : 503)

/** If every check for this long finds a loop stalled, the loop will hardly continue by itself. */
export const lastingAfterMs = 60_000

/**
 * Distinguishes a lasting stall, which needs a restart, from a short one, which does not. It knows only the results of
 * the checks, so a probe should check several times within `lastingAfterMs`.
 */
class LastingStalls {
  #seenSince = new Map<string, number>()

  /** The loops that all checks for long enough, including this one, have found stalled. */
  look(stalledLoops: ReadonlyArray<string>, nowMs: number): ReadonlyArray<string> {
    this.#seenSince = new Map(stalledLoops.map((loop) => [loop, this.#seenSince.get(loop) ?? nowMs]))
    return stalledLoops.filter((loop) => nowMs - (this.#seenSince.get(loop) ?? nowMs) >= lastingAfterMs)
  }
}

const waitReasons: Readonly<Record<WaitsFor, string>> = {
  otherProcess: "Another process owns the shards of this one: the service waits to take over.",
  firstClaim: "The service is starting: it has not claimed its shards yet.",
  nextClaim: "The service has lost its shards and claims them again.",
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
    reasons.push(waitReasons[status.waitsFor ?? "firstClaim"])
  } else if (!isOneOfSeveral && ownedShards < Math.max(1, shards)) {
    // A single node must own all shards. One of several nodes fires its own shards and forwards the other calls. If a
    // shard without an owner made nodes not ready, all nodes would go out of rotation at once.
    reasons.push(`The service owns only ${ownedShards} of ${shards} shards.`)
  }
  for (const loop of status.stalledLoops) reasons.push(`The loop ${loop} has stopped making progress.`)
  return reasons
}

/** A stranger learns only whether the service works, not how it is built. Probes need no more. */
const withoutReasons =
  (answer: () => HttpAnswer, callerCheck: CallerCheck | undefined): SiteAnswer =>
  (request) => {
    const whole = answer()
    if (whole.status === 200 || callerCheck === undefined || callerCheck.may(request, "service.read"))
      return whole
    return { ...whole, body: JSON.stringify({ status: JSON.parse(String(whole.body)).status }) }
  }
