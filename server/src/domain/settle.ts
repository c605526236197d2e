// Decides the outcome of one attempt from the result of the deliverer and the retry policy.
import type { Attempted, NextTime, Unsent } from "./Delivery.ts"
import { latenessMs } from "./latenessMs.ts"
import type { PastPause } from "./NamespaceSettings.ts"
import { pausedMs } from "./pausedTime.ts"
import type { RetryPolicy, Timer } from "./Timer.ts"
import type { Then } from "./WriteItem.ts"

/** An answer cannot make the same timer fire again sooner than this. */
export const nearestRearmMs = 1_000

/** An answer can set a time at most ten years in the future, like a caller. */
export const farthestRearmMs = 3_653 * 86_400_000

export interface Settling {
  readonly delivery: Attempted
  /** The number of the attempt that ended; the first is 1. */
  readonly attempt: number
  readonly startedAt: number
  /** When the request was sent. Lateness counts up to this moment. */
  readonly sentAt: number
  readonly endedAt: number
  /** In [0, 1): spreads retries. */
  readonly random: number
  /** The pauses of the timer's namespace. A current pause has no end. */
  readonly pauses: ReadonlyArray<PastPause>
  /** Makes the fireId of the next arming, if there is one. */
  readonly nextFireId: () => string
}

/** What follows from an attempt. */
export type AfterAttempt = Exclude<Then, { readonly to: "postponed" }>

export const settle = (timer: Timer, settling: Settling): AfterAttempt => {
  const { delivery, attempt, startedAt, sentAt, endedAt } = settling
  switch (delivery.kind) {
    case "delivered":
      return { to: "delivered", latenessMs: latenessMs(timer, sentAt) }
    case "rearm":
      return {
        to: "rearmed",
        executeAt: instantOf(delivery.next, endedAt),
        fireId: settling.nextFireId(),
        latenessMs: latenessMs(timer, sentAt),
        ...(delivery.payload === undefined ? {} : { payload: delivery.payload }),
      }
    case "dead":
      return { to: "dead", reason: delivery.reason }
    case "retry": {
      const policy = timer.spec.retryPolicy
      if (attempt >= policy.maxAttempts) return { to: "dead", reason: "attemptsExhausted" }
      const fireAt =
        delivery.next === undefined
          ? endedAt + waitMs(policy, attempt, settling.random, delivery.retryAfterMs)
          : instantOf(delivery.next, endedAt)
      const firstAttemptAt = timer.firstAttemptAt ?? startedAt
      const counted = fireAt - firstAttemptAt - pausedMs(settling.pauses, firstAttemptAt, fireAt)
      if (policy.maxDurationMs !== undefined && counted > policy.maxDurationMs) {
        return { to: "dead", reason: "durationExhausted" }
      }
      return { to: "retry", fireAt }
    }
  }
}

/** What follows if no attempt was made. */
export const settleUnsent = (delivery: Unsent, nowMs: number): Then =>
  delivery.kind === "dropped"
    ? { to: "dropped", reason: delivery.reason }
    : { to: "postponed", fireAt: nowMs + delivery.inMs }

/**
 * The wait after attempt number `attempt`: its interval, shortened at random by up to the fraction `jitter`, or the
 * exact wait from the policy's list. The receiver may ask for a longer wait, up to the longest wait of the policy.
 */
export const waitMs = (
  policy: RetryPolicy,
  attempt: number,
  random: number,
  retryAfterMs: number | undefined,
): number => {
  const interval =
    policy.waitsMs?.[attempt - 1] ??
    Math.min(policy.maxIntervalMs, policy.initialIntervalMs * policy.backoffMultiplier ** (attempt - 1))
  const jittered = Math.ceil(interval * (1 - policy.jitter * random))
  const asked = Math.min(retryAfterMs ?? 0, policy.maxIntervalMs)
  return Math.max(1, jittered, asked)
}

const instantOf = (next: NextTime, endedAt: number): number => {
  const asked = "atMs" in next ? next.atMs : endedAt + next.inMs
  return Math.min(Math.max(asked, endedAt + nearestRearmMs), endedAt + farthestRearmMs)
}
