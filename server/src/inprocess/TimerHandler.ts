// A caller's own function as the target of timers: what it is told, and what it may answer, in the words of the
// webhook contract.
import { parseDuration } from "@punctual/api/DurationMs"
import { parseInstant, whyNoInstant } from "@punctual/api/Instant"
import type { Handler, HandlerAnswer } from "../deliverers/handler/HandlerDeliverer.ts"
import type { Fire, NextTime } from "../ports/Deliverer.ts"
import type { PayloadForm } from "./PayloadForm.ts"

/** One attempt, as a handler sees it. */
export interface TimerFire {
  readonly namespace: string
  readonly timerId: string
  /** The same on every attempt of an arming, and never used again: drop repeats by it. */
  readonly fireId: string
  /** The first is 1. */
  readonly attempt: number
  /** How many attempts the retry policy allows. */
  readonly maxAttempts: number
  readonly executeAt: Date
  readonly firedAt: Date
  readonly correlationId: string
  /** Absent if it has none. */
  readonly tags?: ReadonlyArray<string>
  /** As it was given: a value through JSON, or the text itself; undefined if there was none. */
  readonly payload: unknown
}

/** Delivered, and to be fired again: at an instant, or after a duration such as `2s`; with another payload if there is one. */
export type HandlerReply = (
  | { readonly nextExecuteAt: Date | string; readonly nextDelay?: never }
  | { readonly nextDelay: string; readonly nextExecuteAt?: never }
) & { readonly payload?: unknown }

/** One that returns has delivered; one that throws, or takes too long, is tried again by the retry policy. */
export type TimerHandler = (
  fire: TimerFire,
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler without an answer returns nothing.
) => void | HandlerReply | PromiseLike<void | HandlerReply>

export interface PayloadTerms {
  readonly form: PayloadForm
  readonly maxBytes: number
}

export const deliverTo =
  (handler: TimerHandler, payloads: PayloadTerms): Handler =>
  (fire) => {
    const said: unknown = handler(fireOf(fire, payloads.form))
    return isThenable(said)
      ? Promise.resolve(said).then((reply) => answerOf(reply, payloads))
      : answerOf(said, payloads)
  }

/** Builders of queries are promises only in that they have a `then`, and do nothing before it is called. */
const isThenable = (said: unknown): said is PromiseLike<unknown> =>
  typeof said === "object" && said !== null && "then" in said && typeof said.then === "function"

const fireOf = (
  { namespace, timerId, fireId, attempt, maxAttempts, correlationId, ...fire }: Fire,
  form: PayloadForm,
): TimerFire => ({
  namespace,
  timerId,
  fireId,
  attempt,
  maxAttempts,
  executeAt: new Date(fire.executeAt),
  firedAt: new Date(fire.firedAt),
  correlationId,
  ...(fire.tags === undefined ? {} : { tags: fire.tags }),
  payload: fire.payload === undefined ? undefined : form.ofBytes(fire.payload),
})

/** What names no next time is no answer: functions often return what nobody asked for. */
const answerOf = (reply: unknown, payloads: PayloadTerms): HandlerAnswer | undefined => {
  if (typeof reply !== "object" || reply === null) return undefined
  const { nextExecuteAt, nextDelay, payload }: { [name in keyof HandlerReply]?: unknown } = reply
  if (nextExecuteAt === undefined && nextDelay === undefined) return undefined
  const next = nextOf(nextExecuteAt, nextDelay)
  return payload === undefined ? { next } : { next, payload: bytesOf(payload, payloads) }
}

const nextOf = (nextExecuteAt: unknown, nextDelay: unknown): NextTime => {
  if (nextExecuteAt !== undefined && nextDelay !== undefined) {
    throw new Error("it answered with nextExecuteAt and nextDelay: only one of them can hold")
  }
  if (nextDelay !== undefined) {
    const inMs = typeof nextDelay === "string" ? parseDuration(nextDelay) : undefined
    if (inMs === undefined) throw new Error("nextDelay must be a duration, such as 90s or 1h30m")
    return { inMs }
  }
  const atMs =
    nextExecuteAt instanceof Date
      ? nextExecuteAt.getTime()
      : typeof nextExecuteAt === "string"
        ? parseInstant(nextExecuteAt)
        : undefined
  if (atMs === undefined || Number.isNaN(atMs)) {
    const text = typeof nextExecuteAt === "string" ? nextExecuteAt : ""
    throw new Error(`nextExecuteAt must be a Date, or ${whyNoInstant(text)}`)
  }
  return { atMs }
}

const bytesOf = (payload: unknown, { form, maxBytes }: PayloadTerms): Uint8Array => {
  const bytes = form.bytesOf(payload)
  if (bytes === undefined) throw new Error("the next payload cannot be written as JSON")
  if (bytes.byteLength > maxBytes) {
    throw new Error(`the next payload must be at most ${maxBytes} bytes, and has ${bytes.byteLength}`)
  }
  return bytes
}
