// The targets of all timers. By the seed, a target delivers, fails, hangs, answers late, asks for another call, or
// refuses. The history records what each target got and answered. After the troubles, all targets are healthy.
import { Effect } from "effect"
import type { Target } from "../../src/domain/Timer.ts"
import type { Deliverer, Delivery, Fire } from "../../src/ports/Deliverer.ts"
import type { HistoryRecorder, Reply } from "../History.ts"
import type { Chance } from "./Chance.ts"
import type { Temper } from "./Scenario.ts"
import type { SimProcess } from "./SimProcess.ts"

/** Sees each attempt begin and end. */
export interface AttemptWitness {
  began(process: SimProcess, fire: Fire): void
  /** Also called for attempts that no node waits for any more. */
  ended(process: SimProcess, fire: Fire): void
}

export interface TargetsParts {
  readonly chance: Chance
  readonly recorder: HistoryRecorder
  readonly witness: AttemptWitness
  temperOf(namespace: string): Temper
  /** From then on every target is healthy. */
  areWell(): boolean
}

interface Behaviour {
  readonly afterMs: number
  readonly delivery: Delivery
}

const delivered: Delivery = { kind: "delivered", status: 200 }
const encoder = new TextEncoder()

export class Targets {
  readonly #parts: TargetsParts
  #rearmings = 0

  constructor(parts: TargetsParts) {
    this.#parts = parts
  }

  /** The deliverer of one process. */
  reachedFrom(process: SimProcess): Deliverer {
    return {
      deliver: (fire) => this.#deliver(process, fire),
      hostOf: (target: Target) => ("url" in target ? new URL(target.url).host : target.type),
    }
  }

  #deliver(process: SimProcess, fire: Fire): Effect.Effect<Delivery> {
    const { recorder, witness } = this.#parts
    const { world } = process
    return Effect.callback((resume) => {
      const behaviour = this.#behaviourFor(fire)
      // Of calls that tell of a death the history knows nothing.
      const delivery =
        fire.death !== undefined
          ? undefined
          : recorder.attempted({
              key: { namespace: fire.namespace, timerId: fire.timerId },
              fireId: fire.fireId,
              attempt: fire.attempt,
              epoch: fire.epoch,
              revision: fire.revision,
              executeAtMs: fire.executeAt,
              firedAtMs: fire.firedAt,
              beganAtMs: world.nowMs,
              ...(fire.payload === undefined ? {} : { payload: fire.payload }),
            })
      witness.began(process, fire)
      let isAwaited = true
      world.afterMs(behaviour.afterMs, () => {
        if (!isAwaited || !process.isAlive) {
          witness.ended(process, fire)
          return
        }
        if (delivery !== undefined) recorder.replied(delivery, replyOf(behaviour.delivery))
        world.trace.note("targets", () => `${fire.namespace}/${fire.timerId} says ${behaviour.delivery.kind}`)
        // For the node, the attempt runs until the node hears of its end.
        process.post(() => {
          witness.ended(process, fire)
          resume(Effect.succeed(behaviour.delivery))
        })
      })
      return Effect.sync(() => {
        isAwaited = false
      })
    })
  }

  #behaviourFor(fire: Fire): Behaviour {
    const { chance } = this.#parts
    const soonMs = chance.between(1, 20)
    if (this.#parts.areWell()) return { afterMs: soonMs, delivery: delivered }
    if (fire.death !== undefined) {
      const isLate = chance.happens(0.3)
      return {
        afterMs: soonMs,
        delivery: isLate ? { kind: "retry", error: "not now", isHostFailure: false } : delivered,
      }
    }
    switch (this.#parts.temperOf(fire.namespace)) {
      case "calm":
        return { afterMs: soonMs, delivery: delivered }
      case "moody":
        return this.#moody(soonMs)
      case "recurring":
        return chance.happens(0.6)
          ? { afterMs: soonMs, delivery: this.#rearm(fire) }
          : { afterMs: chance.skewed(1, 3_000), delivery: delivered }
    }
  }

  #moody(soonMs: number): Behaviour {
    const { chance } = this.#parts
    const isHostFailure = chance.happens(0.4)
    const behaviour = chance.weighted<Behaviour>([
      [45, { afterMs: soonMs, delivery: delivered }],
      [20, { afterMs: soonMs, delivery: { kind: "retry", error: "not now", isHostFailure } }],
      [
        5,
        {
          afterMs: soonMs,
          delivery: { kind: "retry", error: "later", next: { inMs: 2_500 }, isHostFailure: false },
        },
      ],
      [5, { afterMs: soonMs, delivery: { kind: "dead", reason: "refused", error: "never", status: 410 } }],
      [15, { afterMs: chance.skewed(200, 5_000), delivery: delivered }],
      // The target hangs until the time limit.
      [
        10,
        {
          afterMs: chance.between(3_000, 9_000),
          delivery: { kind: "retry", error: "time-out", isHostFailure: true },
        },
      ],
    ])
    return behaviour ?? { afterMs: soonMs, delivery: delivered }
  }

  #rearm({ namespace, timerId }: Fire): Delivery {
    const { chance } = this.#parts
    const payload = chance.happens(0.3)
      ? encoder.encode(JSON.stringify({ for: `${namespace}/${timerId}`, again: ++this.#rearmings }))
      : undefined
    return {
      kind: "rearm",
      next: { inMs: chance.skewed(0, 6_000) },
      ...(payload === undefined ? {} : { payload }),
    }
  }
}

const replyOf = (delivery: Delivery): Reply => {
  switch (delivery.kind) {
    case "rearm":
      return {
        result: "rearmed",
        ...(delivery.payload === undefined ? {} : { payload: delivery.payload }),
      }
    case "retry":
    case "postponed":
    case "egressRefused":
      return { result: "retry" }
    case "dropped":
      return { result: "dead" }
    default:
      return { result: delivery.kind }
  }
}
