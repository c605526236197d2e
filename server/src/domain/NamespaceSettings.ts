// The settings of a namespace, which operators change. A namespace without settings has the defaults, and timers can be
// created in it.
import type { OnDead, RetryPolicy } from "./Timer.ts"

/** A webhook secret as it is stored: sealed with a key that is not in the store. */
export interface SealedSecret {
  readonly sealed: string
  /** The first 16 hex digits of SHA-256 over the bytes of the secret. People may see it. */
  readonly fingerprint: string
}

/** The beginning and the end of a pause, in epoch milliseconds. */
export interface PastPause {
  readonly fromMs: number
  readonly untilMs: number
}

export interface NamespaceSettings {
  readonly webhookSecrets?: ReadonlyArray<SealedSecret>
  readonly retryPolicy?: RetryPolicy
  /** The onDead of its timers that have no onDead of their own. */
  readonly onDead?: OnDead
  readonly maxInFlight?: number
  readonly maxPending?: number
  readonly createsPerSecond?: number
  /** Present while the namespace is paused. */
  readonly pausedSinceMs?: number
  /** Only while the namespace is paused. */
  readonly pauseReason?: string
  /** The latest pauses that ended, oldest first. Their time does not count against expireAfter and maxDuration. */
  readonly pastPauses?: ReadonlyArray<PastPause>
}

/** Why all firing is paused: an operator paused it, or the store was restored from a backup. */
export interface ServicePause {
  readonly sinceMs: number
  readonly kind: "asked" | "restored"
  readonly reason?: string
}

export interface ServiceSettings {
  /** Present while all firing is paused. */
  readonly pause?: ServicePause
  readonly pastPauses?: ReadonlyArray<PastPause>
}

const pausesKept = 20

/** Adds a pause that has ended. If there are too many, the oldest are dropped. */
export const withPause = (
  pauses: ReadonlyArray<PastPause> | undefined,
  fromMs: number,
  untilMs: number,
): ReadonlyArray<PastPause> =>
  untilMs > fromMs ? [...(pauses ?? []), { fromMs, untilMs }].slice(-pausesKept) : (pauses ?? [])
