// One call of the contract as its handler sees it.
import type { Problem } from "@punctual/api/Problem"
import type { Effect } from "effect"

export interface ApiCall<Body> {
  /** The decoded body. */
  readonly body: Body
  /** The text it was decoded from: payloads are cut out of it, so that they stay as they were sent. */
  readonly text: string
  /** When the body had arrived, by the wall clock: what `delay` counts from. */
  readonly receivedAt: number
}

/** Answers with the JSON text of a success. */
export type ApiHandler<Body> = (call: ApiCall<Body>) => Effect.Effect<string, Problem>
