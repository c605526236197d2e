// Stores the outcome of an attempt. The outcome goes through the write queue of the shard, fenced by its epoch. If the
// result of the write is unknown, the write is repeated, but never the delivery. Before a timer with `onDead` is stored as
// dead, its `_dead` timer is stored (DeadNotices.ts).
import { Effect, Exit } from "effect"
import { type AttemptLog, withAttempt } from "../../domain/AttemptLog.ts"
import { endOfLife, withoutPayload } from "../../domain/decide.ts"
import { latenessMs } from "../../domain/latenessMs.ts"
import { settle } from "../../domain/settle.ts"
import type { Attempt, FinishedLife } from "../../domain/Timer.ts"
import type { Outcome, Then, WriteAnswer } from "../../domain/WriteItem.ts"
import type { Delivery } from "../../ports/Deliverer.ts"
import type { Ids } from "../../ports/Ids.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { Entry } from "../window/Entry.ts"
import type { Unanswered, WriteQueue } from "../writing/WriteQueue.ts"
import type { DeadNotices } from "./DeadNotices.ts"
import type { Flight } from "./Dispatcher.ts"
import type { DispatchTerms } from "./DispatchTerms.ts"

export interface SettlerParts {
  readonly queue: WriteQueue
  readonly wall: WallClock["Service"]
  readonly ids: Ids["Service"]
  readonly metrics: EngineMetrics
  readonly terms: Pick<DispatchTerms, "pausesOf">
  /** In [0, 1). */
  readonly random: () => number
  readonly log: (effect: Effect.Effect<void>) => void
  readonly notices: Pick<DeadNotices, "concerns" | "announce">
  readonly run: <A>(effect: Effect.Effect<A>, onExit: (exit: Exit.Exit<A>) => void) => void
}

type Ended = Pick<Outcome, "attempt" | "at" | "then"> & { readonly attemptLog?: AttemptLog }

export class Settler {
  readonly #parts: SettlerParts

  constructor(parts: SettlerParts) {
    this.#parts = parts
  }

  settle(flight: Flight, delivery: Delivery, onStored: () => void): void {
    const { entry, attempt, startedAt } = flight
    const endedAt = this.#parts.wall.now()
    const made = attemptOf(delivery, startedAt, endedAt)
    const attemptLog = withAttempt(entry.timer.attemptLog, made)
    if (entry.isSuperseded) {
      this.#record(entry, delivery, attempt, made, endedAt, onStored)
      return
    }
    const then = settle(entry.timer, {
      delivery,
      attempt,
      startedAt,
      endedAt,
      random: this.#parts.random(),
      pauses: this.#parts.terms.pausesOf(entry.timer.namespace),
      nextFireId: () => this.#parts.ids.uuidV7(endedAt),
    })
    this.#report(entry, attempt, then, delivery)
    const isMade = delivery.kind !== "dropped" && delivery.kind !== "postponed"
    const outcome: Ended = isMade
      ? { attempt, at: endedAt, attemptLog, then }
      : { attempt, at: endedAt, then }
    this.#end(entry, outcome, onStored, (isStale) => {
      // The timer was cancelled or replaced while its outcome was being stored.
      if (isStale && entry.isSuperseded) this.#record(entry, delivery, attempt, made, endedAt, onStored)
      else onStored()
    })
  }

  /** The timer did not start by executeAt plus expireAfter. It ends without an attempt: dead or dropped (onExpire). */
  expire(entry: Entry, onStored: () => void): void {
    const { attempts, spec } = entry.timer
    const then: Then = { to: spec.onExpire === "drop" ? "dropped" : "dead", reason: "expired" }
    this.#report(entry, attempts, then, undefined)
    this.#end(entry, { attempt: attempts + 1, at: this.#parts.wall.now(), then }, onStored, onStored)
  }

  /** Stores the outcome. If it is a death that must be reported, the notice is stored first. */
  #end(entry: Entry, outcome: Ended, onGivenUp: () => void, onStored: (isStale: boolean) => void): void {
    const { notices, queue, run } = this.#parts
    const { timer, home } = entry
    const { then, attempt, at, attemptLog } = outcome
    if (then.to !== "dead" || !notices.concerns(timer)) {
      this.#store(entry, outcome, onStored)
      return
    }
    const attempts = attemptLog === undefined ? timer.attempts : attempt
    const end = { reason: then.reason, attempts, at, ...(attemptLog === undefined ? {} : { attemptLog }) }
    run(
      notices.announce(timer, end, () => queue.takes(home)),
      (exit) => {
        if (!Exit.isSuccess(exit) || !exit.value) onGivenUp()
        // The timer was superseded, so it is not dead. The notice finds this out when it fires, and is dropped.
        else if (entry.isSuperseded) onStored(true)
        else this.#store(entry, outcome, onStored)
      },
    )
  }

  #store(entry: Entry, outcome: Ended, onStored: (isStale: boolean) => void): void {
    entry.state = "settling"
    const { timer, home } = entry
    const item: Outcome = { kind: "outcome", timer, ...outcome }
    const onAnswer = (answer: WriteAnswer | Unanswered) => {
      const result = typeof answer === "string" ? undefined : answer.result
      const isStale = result === "stale"
      const isUnreadable = typeof answer !== "string" && "isUnreadable" in answer
      if ((isStale || isUnreadable) && !entry.isSuperseded) home.readAgain(entry)
      if (result === "settled") this.#parts.metrics.settled(outcome.then.to)
      onStored(isStale)
    }
    // If this node has given up the shard, it cannot write the outcome. The next owner repeats the attempt.
    if (!this.#parts.queue.push(home, { item, onAnswer })) onStored(false)
  }

  /** The timer was cancelled or replaced, so the outcome goes only to the history. */
  #record(
    { timer, home }: Entry,
    delivery: Delivery,
    attempt: number,
    made: Attempt,
    endedAt: number,
    onStored: () => void,
  ): void {
    this.#parts.metrics.settled("superseded")
    const isDelivered = delivery.kind === "delivered" || delivery.kind === "rearm"
    const life: FinishedLife = {
      ...withoutPayload(endOfLife(timer, isDelivered ? "delivered" : "cancelled", endedAt)),
      attempts: attempt,
      attemptLog: withAttempt(timer.attemptLog, made),
      ...(isDelivered ? { latenessMs: latenessMs(timer, made.at) } : {}),
    }
    const queued = this.#parts.queue.push(home, { item: { kind: "record", life }, onAnswer: onStored })
    if (!queued) onStored()
  }

  #report({ timer }: Entry, attempt: number, then: Then, delivery: Delivery | undefined): void {
    if (then.to === "delivered" || then.to === "rearmed") return
    const error = delivery !== undefined && "error" in delivery ? delivery.error : undefined
    const message =
      then.to === "retry" ? "attempt failed, retry scheduled" : `timer is ${then.to}: ${then.reason}`
    const log = then.to === "dead" ? Effect.logWarning(message) : Effect.logInfo(message)
    this.#parts.log(
      log.pipe(
        Effect.annotateLogs({
          namespace: timer.namespace,
          timerId: timer.timerId,
          fireId: timer.fireId,
          correlationId: timer.correlationId,
          attempt,
          ...(error === undefined ? {} : { error }),
          ...(then.to === "retry" ? { retryAt: new Date(then.fireAt).toISOString() } : {}),
        }),
      ),
    )
  }
}

const attemptOf = (delivery: Delivery, startedAt: number, endedAt: number): Attempt => ({
  at: startedAt,
  durationMs: Math.max(0, endedAt - startedAt),
  ...("status" in delivery ? { status: delivery.status } : {}),
  ...("error" in delivery ? { error: delivery.error } : {}),
  ...("answer" in delivery ? { answer: delivery.answer } : {}),
})
