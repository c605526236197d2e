// How much a node delivers at once, and how much of that it does now.
import type { BreakerPolicy } from "./Breaker.ts"

export interface DispatcherLimits {
  readonly inFlight: number
  readonly inFlightPerNamespace: number
  readonly inFlightPerHost: number
  /** Attempts that ended but whose outcome is not stored yet, and those in flight, together. */
  readonly unsettled: number
  readonly breaker: BreakerPolicy
}

export interface DispatchLoad {
  readonly limits: DispatcherLimits
  readonly inFlight: number
  readonly unsettled: number
  /** It starts nothing more, because the process stops. */
  readonly isStopped: boolean
}
