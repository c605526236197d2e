// An attempt that is running.
import type { Span } from "@punctual/telemetry/Tracing"
import type { Entry } from "../window/Entry.ts"

export interface Flight {
  readonly entry: Entry
  readonly attempt: number
  readonly startedAt: number
  /** When the request was sent, by the wall clock; `undefined` if it was not sent yet. */
  sentAt: number | undefined
  /** The span of the attempt, if it is recorded. */
  span?: Span
  /** The span that the request names, if this process exports traces. */
  traceparent?: string
  /** What the attempt meant for the timer, if it was settled. */
  settledAs?: string
}
