// What an operator has set for a namespace. A namespace without settings has the defaults: nothing here is needed to
// create a timer.
import type { OnDead, RetryPolicy } from "./Timer.ts"

/** A secret of webhooks as it is stored: sealed under a key that the store does not hold. */
export interface SealedSecret {
  readonly sealed: string
  /** The first 16 hex digits of SHA-256 over the secret's bytes: what people may see of it. */
  readonly fingerprint: string
}

/** From when to when nothing was fired, both in epoch milliseconds. */
export interface PastPause {
  readonly fromMs: number
  readonly untilMs: number
}

export interface NamespaceSettings {
  readonly webhookSecrets?: ReadonlyArray<SealedSecret>
  readonly retryPolicy?: RetryPolicy
  /** Who is told of its dead timers that have no onDead of their own. */
  readonly onDead?: OnDead
  readonly maxInFlight?: number
  readonly maxPending?: number
  readonly createsPerSecond?: number
  /** Present while it is paused. */
  readonly pausedSinceMs?: number
  /** The latest pauses that ended, oldest first, bounded: the time in them does not count against timers. */
  readonly pastPauses?: ReadonlyArray<PastPause>
}

/** Why all firing is stopped: an operator asked for it, or the store was restored from a backup. */
export interface ServicePause {
  readonly sinceMs: number
  readonly kind: "asked" | "restored"
  readonly reason?: string
}

export interface ServiceSettings {
  /** Present while all firing is stopped. */
  readonly pause?: ServicePause
  readonly pastPauses?: ReadonlyArray<PastPause>
}

const pausesKept = 20

/** The pauses with one more that has ended. Of many the oldest are forgotten. */
export const withPause = (
  pauses: ReadonlyArray<PastPause> | undefined,
  fromMs: number,
  untilMs: number,
): ReadonlyArray<PastPause> =>
  untilMs > fromMs ? [...(pauses ?? []), { fromMs, untilMs }].slice(-pausesKept) : (pauses ?? [])
