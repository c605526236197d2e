// Why a due timer has not started, for people and programs that look at it. Nothing here is stored: the owner of the
// timer's shard works it out when somebody asks.

/** The contract lists the same words in `api/src/Waiting.ts`. */
export type WaitingReason = "paused" | "servicePaused" | "breaker" | "congested" | "noSubscriber" | "sealed"

export interface Waiting {
  readonly reason: WaitingReason
  /** When the cause began or the timer became due, whichever is later. */
  readonly sinceMs: number
  /** One or two sentences that name the host, the limit or the setting. */
  readonly detail: string
}

/** What the owner of a pending timer says about it. Neither: it is not due, or about to start. */
export interface FiringStatus {
  /** When the attempt that runs now started. */
  readonly inFlightSinceMs?: number
  readonly waiting?: Waiting
}
