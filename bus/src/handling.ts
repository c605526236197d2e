// One call of a handler: the message as the handler sees it, and what the result of the call means to the intake.
import { memberSpan } from "@punctual/api/JsonSpan"
import { Cause, Option } from "effect"
import type { HandlerFailure, Message } from "./Bus.ts"
import type { Envelope } from "./Envelope.ts"
import type { Incoming } from "./Incoming.ts"

export type HandlerOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "failed" | "refused"; readonly error: string }
  | { readonly kind: "unavailable" | "postponed"; readonly error: string; readonly retryAfterMs: number }

export const messageOf = (envelope: Envelope, { bytes }: Incoming, delivery: number): Message => ({
  envelope,
  delivery,
  // A getter, because few handlers use it.
  get payloadJson() {
    const text = decoder.decode(bytes)
    const span = memberSpan(text, "payload")
    return span === undefined ? "null" : text.slice(span.start, span.end)
  },
})

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

export const outcomeOf = (cause: Cause.Cause<HandlerFailure>): HandlerOutcome => {
  const failure = Option.getOrUndefined(Cause.findErrorOption(cause))
  if (failure === undefined) return { kind: "failed", error: `the handler crashed: ${Cause.pretty(cause)}` }
  const { message: error } = failure
  switch (failure._tag) {
    case "MessageFailed":
      return { kind: "failed", error }
    case "MessageRefused":
      return { kind: "refused", error }
    case "MessagePostponed":
      return { kind: "postponed", error, retryAfterMs: failure.retryAfterMs }
    case "HandlerUnavailable":
      return { kind: "unavailable", error, retryAfterMs: failure.retryAfterMs }
  }
}

export const shortestPauseMs = 100
const longestPauseMs = 10_000

/** How long the intake waits before it asks a handler again. */
export const pauseMs = (retryAfterMs: number): number =>
  Math.min(longestPauseMs, Math.max(shortestPauseMs, retryAfterMs || 0))
