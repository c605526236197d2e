// One call of the contract as data: what is asked, by whom and when, and what is answered. Calls know no text: whoever
// serves them, over HTTP or inside a program, decodes what comes in by the contract's schemas and shows what comes out.
import type { Problem } from "@punctual/api/Problem"
import type { Effect } from "effect"
import type { Caller } from "./Caller.ts"

export interface Asked<Body> {
  /** What the contract's schema has decoded. */
  readonly body: Body
  readonly caller: Caller
  /** When the request had arrived, by the wall clock: what `delay` counts from. */
  readonly receivedAt: number
  /** The trace that the request belongs to, by its header; only for calls that keep it. */
  readonly traceparent?: string
}

export type Call<Body, Answer> = (asked: Asked<Body>) => Effect.Effect<Answer, Problem>

export type AnswerOf<Called> = Called extends Call<never, infer Answer> ? Answer : never

/** Something for each endpoint, by its group and its name. */
export interface ByEndpoint<A> {
  readonly [group: string]: { readonly [name: string]: A }
}

/**
 * A body with its payload as the UTF-8 bytes of its JSON text, as it was sent. The contract's schemas let any payload
 * pass, so whoever serves a call puts the bytes in the payload's place before they decode the body.
 */
export type WithPayload<Body> = Omit<Body, "payload"> & { readonly payload?: Uint8Array }
