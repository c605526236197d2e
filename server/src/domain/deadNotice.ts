// The notice that reports a dead timer. It is a timer of its own: in the same namespace, due at once, with the dead
// timer's payload and terms. Its id is derived from the arming that died, so that one death has one notice, even if the
// notice is written several times.
import type { AttemptLog } from "./AttemptLog.ts"
import type { Known } from "./Decision.ts"
import type { Death, Mutable, OnDead, RetryPolicy, Timer } from "./Timer.ts"
import { keyOf } from "./TimerKey.ts"
import { copyAdded } from "./timerFields.ts"
import type { Put } from "./WriteItem.ts"

/** How the arming of a timer ended. */
export interface DeadEnd {
  readonly reason: string
  readonly attempts: number
  readonly attemptLog?: AttemptLog
  readonly at: number
}

export interface NoticeTerms {
  readonly timerId: string
  readonly target: OnDead
  readonly retryPolicy: RetryPolicy
  readonly fireId: string
}

/** An existing notice stays unchanged, because another node may have created it before it lost the shard. */
export const noticeOf = (timer: Timer, end: DeadEnd, terms: NoticeTerms): Put => {
  const { at } = end
  const notice: Mutable<Timer> = {
    ...keyOf(timer.namespace, terms.timerId),
    fireId: terms.fireId,
    revision: at,
    executeAt: at,
    fireAt: at,
    attempts: 0,
    createdAt: at,
    updatedAt: at,
    correlationId: timer.correlationId,
    spec: { target: terms.target, retryPolicy: terms.retryPolicy, death: deathOf(timer, end) },
  }
  if (timer.payload !== undefined) notice.payload = timer.payload
  copyAdded(timer, notice)
  return { kind: "put", timer: notice, onExisting: "keep", madeCorrelationId: false }
}

const deathOf = (timer: Timer, { reason, attempts, attemptLog }: DeadEnd): Death => {
  const lastAttempt = (attemptLog ?? timer.attemptLog)?.at(-1)
  const { timerId, fireId, revision, executeAt } = timer
  const death = { timerId, fireId, revision, executeAt, reason, attempts }
  return lastAttempt === undefined ? death : { ...death, lastAttempt }
}

/**
 * Whether the arming is dead, according to the store. `undecided`: it is still pending, because its end is on the way
 * to the store, or because a process stopped before it stored the end. If the store has no trace of the arming, it was
 * dead, because a replay and a discard remove dead letters.
 */
export const fateOf = (
  { fireId }: Pick<Death, "fireId">,
  { pending, last }: Pick<Known, "pending" | "last">,
): "dead" | "notDead" | "undecided" => {
  if (pending?.fireId === fireId) return "undecided"
  return last?.fireId === fireId && last.state !== "dead" ? "notDead" : "dead"
}
