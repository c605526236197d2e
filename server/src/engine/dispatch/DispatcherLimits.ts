// The limits of deliveries of a node, and its current load.
import type { BreakerPolicy } from "./Breaker.ts"

export interface DispatcherLimits {
  readonly inFlight: number
  /** Additional slots for attempts to silent hosts. 0: every attempt uses a normal slot. */
  readonly slow: number
  /** Additional slots for attempts to hosts about which nothing is known. */
  readonly trial: number
  readonly inFlightPerNamespace: number
  readonly inFlightPerHost: number
  /** Attempts in flight and attempts whose outcome is not stored yet, together. */
  readonly unsettled: number
  /** Attempts of new namespaces that began in the last 25 ms and have not ended. */
  readonly freshNew: number
  readonly breaker: BreakerPolicy
}

export interface DispatchLoad {
  readonly limits: DispatcherLimits
  /** Attempts in flight, except for those in slow slots. */
  readonly inFlight: number
  readonly unsettled: number
  /** No attempt starts any more, because the process stops. */
  readonly isStopped: boolean
}
