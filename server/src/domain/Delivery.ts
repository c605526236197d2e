// What an attempt came to, as a deliverer saw it. What follows from it is decided in settle.ts.

/** An instant named by the far side: absolute, or counted from the end of the attempt. */
export type NextTime = { readonly atMs: number } | { readonly inMs: number }

export type Delivery =
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
      /** The far side named a time: used as it is. */
      readonly next?: NextTime
      /** The far side asked for a pause: honoured up to the policy's maxInterval. */
      readonly retryAfterMs?: number
      /** The host itself failed (no answer, time-out, 5xx): the breaker counts it. */
      readonly isHostFailure: boolean
    }
  | { readonly kind: "dead"; readonly reason: string; readonly error: string; readonly status?: number }
  /** No attempt was made: there is nothing to deliver any more. */
  | { readonly kind: "dropped"; readonly reason: string }
  /** No attempt was made: it is too early to tell whether there is something to deliver. */
  | { readonly kind: "postponed"; readonly inMs: number; readonly error: string }
