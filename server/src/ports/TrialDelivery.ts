// One delivery to a URL without a timer, for someone who writes or checks a receiver. The result has the request as the
// receiver gets it, and the judgement of the deliverer. A trial never fails because of what the receiver did.
import type { Effect } from "effect"
import type { Attempted } from "../domain/Delivery.ts"

export interface Trial {
  readonly url: string
  /** The secrets that sign the request. */
  readonly secrets: ReadonlyArray<Uint8Array>
  /** JSON. */
  readonly payload: string
  readonly timerId: string
}

export interface TrialResult {
  readonly delivery: Attempted
  readonly durationMs: number
  readonly request: { readonly headers: Readonly<Record<string, string>>; readonly body: string }
  /** The beginning of the answer, if there was one. */
  readonly answer?: string
}

export type TrialDelivery = (trial: Trial) => Effect.Effect<TrialResult>
