// Stores the outcome of an attempt. The outcome goes through the write queue of the shard, fenced by its epoch. If the
// result of the write is unknown, the write is repeated, but never the delivery. Before a timer with `onDead` is stored as
// dead, its `_dead` timer is stored (DeadNotices.ts).
import { Effect, Exit } from "effect"
import { type AttemptLog, withAttempt } from "../../domain/AttemptLog.ts"
import { isAttempted, type Postponement, type StorableDelivery, type Unsent } from "../../domain/Delivery.ts"
import { endOfLife, withoutPayload } from "../../domain/endOfLife.ts"
import { latenessMs } from "../../domain/latenessMs.ts"
import { type AfterAttempt, settle, settleUnsent } from "../../domain/settle.ts"
import type { Attempt, FinishedLife, Mutable, Timer } from "../../domain/Timer.ts"
import type { Outcome, WriteAnswer } from "../../domain/WriteItem.ts"
import type { Attempted } from "../../ports/Deliverer.ts"
import type { Ids } from "../../ports/Ids.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { Entry } from "../window/Entry.ts"
import type { Unanswered } from "../writing/LaneQueue.ts"
import type { WriteQueue } from "../writing/WriteQueue.ts"
import { loggedSpan } from "./AttemptSpans.ts"
import type { DeadNotices } from "./DeadNotices.ts"
import type { DispatchTerms } from "./DispatchTerms.ts"
import { FailureLines } from "./FailureLines.ts"
import type { Flight } from "./Flight.ts"

export interface SettlerParts {
  readonly queue: WriteQueue
  readonly wall: WallClock["Service"]
  readonly ids: Ids["Service"]
  readonly metrics: EngineMetrics
  readonly terms: Pick<DispatchTerms, "pausesOf">
  /** In [0, 1). */
  readonly random: () => number
  readonly log: (effect: Effect.Effect<void>) => void
  readonly monotonicMs: () => number
  readonly notices: Pick<DeadNotices, "concerns" | "announce">
  readonly run: <A>(effect: Effect.Effect<A>, onExit: (exit: Exit.Exit<A>) => void) => void
}

interface Ended extends Pick<Outcome, "attempt" | "at"> {
  readonly attemptLog?: AttemptLog
  readonly then: AfterAttempt
}

export class Settler {
  readonly #parts: SettlerParts
  readonly #lines = new FailureLines()

  constructor(parts: SettlerParts) {
    this.#parts = parts
  }

  settle(flight: Flight, delivery: StorableDelivery, onStored: () => void): void {
    if (isAttempted(delivery)) this.#settle(flight, delivery, onStored)
    else this.#settleUnsent(flight.entry, delivery, onStored)
  }

  /** The timer is due, but no attempt may start now. */
  postpone(entry: Entry, postponement: Postponement, onStored: () => void): void {
    this.#settleUnsent(entry, postponement, onStored)
  }

  #settle(flight: Flight, delivery: Attempted, onStored: () => void): void {
    const { entry, attempt, startedAt } = flight
    const endedAt = this.#parts.wall.now()
    const sentAt = flight.sentAt ?? startedAt
    const made = attemptOf(delivery, startedAt, endedAt)
    const attemptLog = withAttempt(entry.timer.attemptLog, made)
    const recordLate = () => {
      this.#parts.metrics.settled("superseded")
      this.#record(
        entry,
        lateLife(entry.timer, delivery, { attempts: attempt, made, sentAt, endedAt }),
        onStored,
      )
    }
    if (entry.isSuperseded) {
      flight.settledAs = "superseded"
      recordLate()
      return
    }
    const then = settle(entry.timer, {
      delivery,
      attempt,
      startedAt,
      sentAt,
      endedAt,
      random: this.#parts.random(),
      pauses: this.#parts.terms.pausesOf(entry.timer.namespace),
      nextFireId: () => this.#parts.ids.uuidV7(endedAt),
    })
    flight.settledAs = then.to
    this.#report(entry, attempt, then, delivery, loggedSpan(flight))
    this.#end(entry, { attempt, at: endedAt, attemptLog, then }, onStored, (isStale) => {
      // The timer was cancelled or replaced while its outcome was being stored.
      if (isStale && entry.isSuperseded) recordLate()
      else onStored()
    })
  }

  /**
   * The timer was not sent, so no attempt is counted or recorded. If a caller cancelled or changed it in the
   * meantime, there is nothing to store.
   */
  #settleUnsent(entry: Entry, delivery: Unsent, onStored: () => void): void {
    if (entry.isSuperseded) {
      onStored()
      return
    }
    const at = this.#parts.wall.now()
    const why = delivery.kind === "dropped" ? delivery.reason : delivery.error
    this.#log(entry.timer, Effect.logDebug(`timer is not sent, it is ${delivery.kind}: ${why}`))
    const then = settleUnsent(delivery, at)
    this.#store(entry, { attempt: entry.timer.attempts + 1, at, then }, () => onStored())
  }

  /** The timer did not start by executeAt plus expireAfter. It ends without an attempt: dead or dropped (onExpire). */
  expire(entry: Entry, onStored: () => void): void {
    const { timer } = entry
    const { attempts, spec } = timer
    const at = this.#parts.wall.now()
    const then: AfterAttempt = { to: spec.onExpire === "drop" ? "dropped" : "dead", reason: "expired" }
    const hasNotice = then.to === "dead" && this.#parts.notices.concerns(timer)
    this.#report(entry, attempts, then, undefined)
    this.#end(entry, { attempt: attempts + 1, at, then }, onStored, (isStale) => {
      // The timer was replaced while its notice was being stored. The notice must find how this arming ended.
      if (isStale && entry.isSuperseded && hasNotice) {
        this.#record(entry, withoutPayload(endOfLife(timer, "cancelled", at)), onStored)
      } else onStored()
    })
  }

  /** Stores the outcome. If it is a death that must be reported, the notice is stored first. */
  #end(entry: Entry, outcome: Ended, onGivenUp: () => void, onStored: (isStale: boolean) => void): void {
    const { notices, queue, run } = this.#parts
    const { timer, home } = entry
    const { then, attempt, at, attemptLog } = outcome
    if (then.to !== "dead" || !notices.concerns(timer)) {
      this.#store(entry, outcome, onStored, then.to)
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
        else this.#store(entry, outcome, onStored, then.to)
      },
    )
  }

  #store(
    entry: Entry,
    outcome: Omit<Outcome, "kind" | "timer">,
    onStored: (isStale: boolean) => void,
    counted?: AfterAttempt["to"],
  ): void {
    entry.state = "settling"
    const { timer, home } = entry
    const item: Outcome = { kind: "outcome", timer, ...outcome }
    const onAnswer = (answer: WriteAnswer | Unanswered) => {
      const result = typeof answer === "string" ? undefined : answer.result
      const isStale = result === "stale"
      const isUnreadable = typeof answer !== "string" && "isUnreadable" in answer
      if ((isStale || isUnreadable) && !entry.isSuperseded) home.readAgain(entry)
      if (result === "settled" && counted !== undefined) this.#parts.metrics.settled(counted)
      onStored(isStale)
    }
    // If this node has given up the shard, it cannot write the outcome. The next owner repeats the attempt.
    if (!this.#parts.queue.push(home, { item, onAnswer, canWait: outcome.then.to === "delivered" }))
      onStored(false)
  }

  /** The timer was cancelled or replaced, so its end goes only to the history. */
  #record({ home }: Entry, life: FinishedLife, onStored: () => void): void {
    const queued = this.#parts.queue.push(home, { item: { kind: "record", life }, onAnswer: onStored })
    if (!queued) onStored()
  }

  #report(
    { timer }: Entry,
    attempt: number,
    then: AfterAttempt,
    delivery: Attempted | undefined,
    span?: ReturnType<typeof loggedSpan>,
  ): void {
    if (then.to === "delivered" || then.to === "rearmed") return
    const line = this.#lines.next(timer.namespace, this.#parts.monotonicMs())
    if (line === "leaveOut") return
    if (line === "writeLast") {
      const last = Effect.logWarning(manyFail)
      this.#parts.log(Effect.annotateLogs(last, { namespace: timer.namespace }))
      return
    }
    const error = delivery !== undefined && "error" in delivery ? delivery.error : undefined
    const message =
      then.to === "retry" ? "attempt failed, retry scheduled" : `timer is ${then.to}: ${then.reason}`
    const log = then.to === "dead" ? Effect.logWarning(message) : Effect.logInfo(message)
    this.#log(timer, log, {
      attempt,
      ...(error === undefined ? {} : { error }),
      ...(then.to === "retry" ? { retryAt: new Date(then.fireAt).toISOString() } : {}),
      ...span,
    })
  }

  #log(timer: Timer, line: Effect.Effect<void>, more: { readonly [name: string]: unknown } = {}): void {
    const { namespace, timerId, fireId, correlationId } = timer
    this.#parts.log(line.pipe(Effect.annotateLogs({ namespace, timerId, fireId, correlationId, ...more })))
  }
}

const manyFail =
  "many attempts fail, so the log leaves out lines about them for up to a second: timer_deliveries_total counts them"

interface LateEnd {
  readonly attempts: number
  readonly made: Attempt
  readonly sentAt: number
  readonly endedAt: number
}

/** The life of an arming that was cancelled or replaced while its attempt ran. */
const lateLife = (
  timer: Timer,
  { kind }: Attempted,
  { attempts, made, sentAt, endedAt }: LateEnd,
): FinishedLife => {
  const isDelivered = kind === "delivered" || kind === "rearm"
  return {
    ...withoutPayload(endOfLife(timer, isDelivered ? "delivered" : "cancelled", endedAt)),
    attempts,
    attemptLog: withAttempt(timer.attemptLog, made),
    ...(isDelivered ? { latenessMs: latenessMs(timer, sentAt) } : {}),
  }
}

/** Every attempt calls this, so fields are assigned one by one: object spread is much slower here. */
const attemptOf = (delivery: Attempted, startedAt: number, endedAt: number): Attempt => {
  const attempt: Mutable<Attempt> = { at: startedAt, durationMs: Math.max(0, endedAt - startedAt) }
  if ("status" in delivery) attempt.status = delivery.status
  if ("error" in delivery) attempt.error = delivery.error
  if ("answer" in delivery) attempt.answer = delivery.answer
  return attempt
}
