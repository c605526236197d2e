// Why a due timer has not started. Nothing of this is stored: the owner of the timer's shard finds it out at each
// request.

/** The contract lists the same words in `api/src/Waiting.ts`. */
export type WaitingReason =
  | "paused"
  | "servicePaused"
  | "breaker"
  | "congested"
  | "egressRefused"
  | "noSubscriber"
  | "sealed"

export interface Waiting {
  readonly reason: WaitingReason
  /** When the cause began or the timer became due, whichever is later. */
  readonly sinceMs: number
  /** One or two sentences that name the host, the limit or the setting. */
  readonly detail: string
}

/** The status of a pending timer, from its owner. Without both fields the timer is not due or about to start. */
export interface FiringStatus {
  /** When the running attempt started. */
  readonly inFlightSinceMs?: number
  readonly waiting?: Waiting
}
