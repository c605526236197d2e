// The notice that reports a dead timer. It is a timer of its own: in the same namespace, due at once, with the dead
// timer's payload and terms. Its id is derived from the arming that died, so that one death has one notice, even if the
// notice is written several times.
import type { AttemptLog } from "./AttemptLog.ts"
import type { Death, FinishedLife, Mutable, OnDead, RetryPolicy, Timer } from "./Timer.ts"
import { keyOf } from "./TimerKey.ts"
import { copyAdded } from "./timerFields.ts"
import type { NamedLife, Put } from "./WriteItem.ts"

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

/** Names the life of the arming that died. */
export const lifeOfDeath = ({ fireId, revision }: Death): NamedLife => ({ fireId, minRevision: revision })

/**
 * What the store says about the arming of a notice. `named` is the life with the fireId of the arming.
 * `pending`: the end of the arming is on the way to the store, or a process stopped before it stored the end.
 * `noTrace`: the arming was dead and its dead letter was replayed or discarded. Or the arming was replaced, and its
 * cancelled life is on the way to the store. Or its life was pruned.
 */
export const fateOf = (
  { fireId }: Pick<Death, "fireId">,
  { pending, named }: { readonly pending: Timer | undefined; readonly named?: FinishedLife | undefined },
): "dead" | "notDead" | "pending" | "noTrace" => {
  if (named !== undefined) return named.state === "dead" ? "dead" : "notDead"
  return pending?.fireId === fireId ? "pending" : "noTrace"
}

/** How often a notice was postponed. Each postponement increments the revision, which begins at the creation time. */
export const postponementsOf = ({ revision, createdAt }: Timer): number => revision - createdAt
