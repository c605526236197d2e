// A message that the intake has taken and not answered yet, and the answers that it can get.
import type { Incoming } from "./Incoming.ts"
import type { Judgement } from "./judge.ts"

export interface HeldMessage {
  readonly incoming: Incoming
  readonly judgement: Exclude<Judgement, { readonly kind: "otherType" }>
  readonly lane: string
  /** The first is 1. The intake counts it up only if the broker cannot deliver a message again after a delay. */
  delivery: number
  /** The intake interrupts the handler because it closes. This does not count as a failure. */
  isCutShort: boolean
  /** The message goes back to the broker as soon as its handler has ended. */
  isLeaving: boolean
}

interface Done {
  readonly kind: "processed" | "undeliverable"
}

/** What the intake does with a message after its handler has ended. */
export type HeldAnswer =
  | Done
  | { readonly kind: "putBack" }
  | { readonly kind: "redeliver"; readonly delayMs: number }
  | { readonly kind: "postpone"; readonly retryAfterMs: number }

/**
 * Neither "/" nor NUL can occur in a namespace, so two keys never share a lane. Messages without a key have their own.
 */
export const laneOf = (incoming: Incoming, judgement: HeldMessage["judgement"]): string =>
  judgement.kind === "fit"
    ? `${judgement.tenant}/${judgement.envelope.aggregateId}`
    : `\u0000${incoming.messageKey}`

export const isDone = (answer: HeldAnswer): answer is Done =>
  answer.kind === "processed" || answer.kind === "undeliverable"
