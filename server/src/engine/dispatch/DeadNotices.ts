// Reports dead timers to their `onDead` target. The report is a timer too, called the notice. The dead timer and its
// notice are in different shards, perhaps on different nodes, so one commit cannot contain both. They are written in
// this order:
//  1. The notice is created, and is on stable storage.
//  2. The end of the dead timer is stored.
//  3. The notice fires. Before it is sent, the life of the arming that died is read by its fireId. If the life is dead,
//     the notice is sent. If the arming was delivered or cancelled, the notice is dropped.
// A crash between 1 and 2 leaves a notice and a pending timer. The timer is attempted again. If it dies again, the
// notice already exists. If it is delivered or cancelled, the notice is dropped.
// A replay or a discard removes a dead letter, so a dead arming may have left no trace. A replaced arming has no trace
// either until its cancelled life is stored. So a notice without a trace waits for a while and is then sent. Every
// death is reported. docs/adr/0049 gives the reasons, and names the rare cases in which a notice is sent by mistake.
import { defaultRetryPolicy } from "@punctual/api/RetryPolicy"
import { deadIdPrefix } from "@punctual/api/TimerId"
import { Effect } from "effect"
import { type DeadEnd, fateOf, lifeOfDeath, noticeOf, postponementsOf } from "../../domain/deadNotice.ts"
import type { Death, Timer } from "../../domain/Timer.ts"
import { keyOf } from "../../domain/TimerKey.ts"
import type { Put, PutAnswer } from "../../domain/WriteItem.ts"
import type { Delivery } from "../../ports/Deliverer.ts"
import type { Ids } from "../../ports/Ids.ts"
import type { TimerStore } from "../../ports/TimerStore.ts"
import type { RefusedWrite } from "../front/RefusedWrite.ts"
import type { NamespaceDirectory } from "../namespaces/NamespaceDirectory.ts"

export interface DeadNoticesParts {
  readonly directory: Pick<NamespaceDirectory["Service"], "of">
  readonly store: Pick<TimerStore["Service"], "find">
  readonly ids: Ids["Service"]
  /** Hands the put to the owner of its shard without checking quotas. Answers exactly once. */
  readonly write: (put: Put, onAnswer: (answer: PutAnswer | RefusedWrite) => void) => void
}

const firstPauseMs = 20
const longestPauseMs = 1_000
/** How many times a notice looks for the end of its timer while it occupies a slot of the dispatcher. */
const looksAtOnce = 6
/** After that the notice frees its slot and waits this long. */
const postponedMs = 5_000
/** A notice whose arming has left no trace is sent after this many postponements. */
const postponementsWithoutTrace = 6

export class DeadNotices {
  readonly #parts: DeadNoticesParts

  constructor(parts: DeadNoticesParts) {
    this.#parts = parts
  }

  /** Whether the death of this timer must be reported. The death of a notice is not reported. */
  concerns(timer: Timer): boolean {
    return timer.spec.death === undefined && this.#targetOf(timer) !== undefined
  }

  /**
   * Creates the notice and waits until it is on stable storage. Retries as long as this node owns the timer's shard.
   * Returns false if the node has lost the shard. Then the end of the timer must not be stored, and the next owner
   * attempts the timer again.
   */
  announce(timer: Timer, end: DeadEnd, isOwned: () => boolean): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      const target = this.#targetOf(timer)
      if (target === undefined) return Effect.succeed(true)
      const retryPolicy = this.#settingsOf(timer).retryPolicy ?? defaultRetryPolicy
      const fireId = this.#parts.ids.uuidV7(end.at)
      const timerId = `${deadIdPrefix}${timer.fireId}`
      const notice = noticeOf(timer, end, { timerId, target, retryPolicy, fireId })
      return this.#put(notice, isOwned, firstPauseMs)
    })
  }

  /**
   * Runs the attempt of a notice only if its timer is dead. Reading the timer takes time, so the lease is checked again
   * after the read.
   */
  confirmed(
    notice: Timer,
    attempt: Effect.Effect<Delivery>,
    mayStart: () => boolean,
  ): Effect.Effect<Delivery> {
    const { death } = notice.spec
    const inTime = Effect.suspend(() =>
      mayStart() ? attempt : Effect.succeed(postponed("the lease of its shard ran out")),
    )
    return death === undefined ? attempt : this.#confirmed(notice, death, inTime, 1)
  }

  #targetOf(timer: Timer) {
    return timer.spec.onDead ?? this.#settingsOf(timer).onDead
  }

  #settingsOf({ namespace }: Timer) {
    return this.#parts.directory.of(namespace).settings
  }

  #put(put: Put, isOwned: () => boolean, pauseMs: number): Effect.Effect<boolean> {
    const answered = Effect.callback<PutAnswer | RefusedWrite>((resume) =>
      this.#parts.write(put, (answer) => resume(Effect.succeed(answer))),
    )
    return Effect.flatMap(answered, (answer) => {
      if (!("_tag" in answer)) return Effect.succeed(true)
      if (answer._tag === "TimerUnstorable" || answer._tag === "TimerUnreadable") {
        return Effect.as(tellUnstorable(put.timer, answer.reason), true)
      }
      if (!isOwned()) return Effect.succeed(false)
      const nextPauseMs = Math.min(longestPauseMs, 2 * pauseMs)
      return Effect.andThen(
        Effect.sleep(pauseMs),
        Effect.suspend(() => (isOwned() ? this.#put(put, isOwned, nextPauseMs) : Effect.succeed(false))),
      )
    })
  }

  #confirmed(
    notice: Timer,
    death: Death,
    attempt: Effect.Effect<Delivery>,
    look: number,
  ): Effect.Effect<Delivery> {
    const reading = this.#parts.store.find(keyOf(notice.namespace, death.timerId), lifeOfDeath(death))
    return Effect.matchEffect(reading, {
      onFailure: () => Effect.succeed(postponed("its timer could not be read")),
      onSuccess: (found) => {
        const fate = fateOf(death, found)
        if (fate === "dead" || (fate === "noTrace" && hasWaitedForTrace(notice))) return attempt
        if (fate === "notDead") return Effect.succeed(notDead)
        if (look === looksAtOnce) return Effect.succeed(postponed(whyPostponed[fate]))
        return Effect.andThen(
          Effect.sleep(Math.min(longestPauseMs, firstPauseMs * 2 ** (look - 1))),
          Effect.suspend(() => this.#confirmed(notice, death, attempt, look + 1)),
        )
      },
    })
  }
}

const notDead: Delivery = { kind: "dropped", reason: "notDead" }

const whyPostponed = {
  pending: "its timer has not ended yet",
  noTrace: "the end of its timer is not stored",
} as const

/** A notice that was sent before found its arming dead then. */
const hasWaitedForTrace = (notice: Timer): boolean =>
  notice.attempts > 0 || postponementsOf(notice) >= postponementsWithoutTrace

const postponed = (error: string): Delivery => ({ kind: "postponed", inMs: postponedMs, error })

const tellUnstorable = ({ namespace, timerId }: Timer, reason: string): Effect.Effect<void> =>
  Effect.logError(`the call of onDead cannot be stored and will not be made: ${reason}`).pipe(
    Effect.annotateLogs({ namespace, timerId }),
  )
