// What an attempt came to, as a deliverer saw it. What follows from it is decided in settle.ts.

/** An instant named by the far side: absolute, or counted from the end of the attempt. */
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
      /** The far side named a time: used as it is. */
      readonly next?: NextTime
      /** The far side asked for a pause: honoured up to the policy's maxInterval. */
      readonly retryAfterMs?: number
      /** The host itself failed (no answer, time-out, 5xx): the breaker counts it. */
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

/** The engine made no attempt: the call is no longer needed, or it is too early to know whether it is. */
export type NoDelivery =
  | { readonly kind: "dropped"; readonly reason: string }
  | { readonly kind: "postponed"; readonly inMs: number; readonly error: string }
