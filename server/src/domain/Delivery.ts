// The result of an attempt, as a deliverer saw it. settle.ts decides what follows from it.
import { errorClassOf } from "./errorClassOf.ts"

/** A time that the receiver named: absolute, or counted from the end of the attempt. */
export type NextTime = { readonly atMs: number } | { readonly inMs: number }

export type Delivery = Attempted | NoDelivery

/** How an attempt ended. */
export type Attempted =
  | { readonly kind: "delivered"; readonly status?: number }
  | {
      readonly kind: "rearm"
      readonly next: NextTime
      readonly payload?: Uint8Array
      readonly status?: number
    }
  | {
      readonly kind: "retry"
      readonly error: string
      readonly status?: number
      /** How the answer's body begins. */
      readonly answer?: string
      /** The receiver named a time for the next attempt, which is used unchanged. */
      readonly next?: NextTime
      /** The receiver asked for a wait, which is used up to the policy's maxInterval. */
      readonly retryAfterMs?: number
      /** The host itself failed (no answer, timeout, 5xx), so the breaker counts it. */
      readonly isHostFailure: boolean
    }
  | {
      readonly kind: "dead"
      readonly reason: string
      readonly error: string
      readonly status?: number
      /** How the answer's body begins. */
      readonly answer?: string
    }

/** The engine made no attempt. */
export type NoDelivery = Unsent | EgressRefusal

/** The call is no longer needed, or it cannot be made yet. */
export type Unsent = { readonly kind: "dropped"; readonly reason: string } | Postponement

export interface Postponement {
  readonly kind: "postponed"
  readonly inMs: number
  readonly error: string
}

/** The rules of this process do not allow the address of the target. The timer waits until they do. */
export interface EgressRefusal {
  readonly kind: "egressRefused"
  /** Names the address and the setting. */
  readonly detail: string
}

/** What the store can record. */
export type StorableDelivery = Exclude<Delivery, EgressRefusal>

/**
 * What an attempt showed about its host. `failed`: it refused the attempt or answered with a failure. `timedOut`: it did
 * not answer in time. `nothing`: the request was not sent, for reasons that do not concern the host.
 */
export type HostEvidence = "answered" | "failed" | "timedOut" | "nothing"

export const hostEvidenceOf = (delivery: Delivery, wasSent: boolean): HostEvidence => {
  if (!isAttempted(delivery)) return "nothing"
  if (delivery.kind === "retry" && delivery.isHostFailure) {
    return errorClassOf(delivery) === "timeout" ? "timedOut" : "failed"
  }
  return wasSent ? "answered" : "nothing"
}

export const isAttempted = (delivery: Delivery): delivery is Attempted =>
  delivery.kind !== "dropped" && delivery.kind !== "postponed" && delivery.kind !== "egressRefused"
