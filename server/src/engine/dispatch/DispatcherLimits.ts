// The limits of deliveries of a node, and its current load.
import type { BreakerPolicy } from "./Breaker.ts"

export interface DispatcherLimits {
  readonly inFlight: number
  readonly inFlightPerNamespace: number
  readonly inFlightPerHost: number
  /** Attempts in flight and attempts whose outcome is not stored yet, together. */
  readonly unsettled: number
  readonly breaker: BreakerPolicy
}

export interface DispatchLoad {
  readonly limits: DispatcherLimits
  readonly inFlight: number
  readonly unsettled: number
  /** No attempt starts any more, because the process stops. */
  readonly isStopped: boolean
}
