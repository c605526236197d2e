// A function of the program as the target of timers: its input and its answers, which are like those of webhooks.
import { parseDuration } from "@punctual/api/DurationMs"
import { parseInstant, whyNoInstant } from "@punctual/api/Instant"
import type { Handler, HandlerAnswer } from "../deliverers/handler/HandlerDeliverer.ts"
import type { Fire, NextTime } from "../ports/Deliverer.ts"
import type { PayloadForm } from "./PayloadForm.ts"

/** One attempt, as a handler sees it. */
export interface TimerFire {
  readonly namespace: string
  readonly timerId: string
  /** The same on every attempt until the timer is armed again. Use it to drop repeats. */
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
  /** The payload as it was given: a value after conversion by JSON, or the text; `undefined` if there is none. */
  readonly payload: unknown
}

/** Delivered, and fire again at an instant or after a duration such as `2s`, with a new payload if there is one. */
export type HandlerReply = (
  | { readonly nextExecuteAt: Date | string; readonly nextDelay?: never }
  | { readonly nextDelay: string; readonly nextExecuteAt?: never }
) & { readonly payload?: unknown }

/** If the handler returns, the timer is delivered. If it throws or takes too long, the retry policy decides. */
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

/** Query builders are not promises but have a `then`, and do nothing before it is called. */
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

/** An answer without a next time is ignored, because functions often return unrelated values. */
const answerOf = (reply: unknown, payloads: PayloadTerms): HandlerAnswer | undefined => {
  if (typeof reply !== "object" || reply === null) return undefined
  const { nextExecuteAt, nextDelay, payload }: { [name in keyof HandlerReply]?: unknown } = reply
  if (nextExecuteAt === undefined && nextDelay === undefined) return undefined
  const next = nextOf(nextExecuteAt, nextDelay)
  return payload === undefined ? { next } : { next, payload: bytesOf(payload, payloads) }
}

const nextOf = (nextExecuteAt: unknown, nextDelay: unknown): NextTime => {
  if (nextExecuteAt !== undefined && nextDelay !== undefined) {
    throw new Error("the handler returned nextExecuteAt and nextDelay: return only one of them")
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
    throw new Error(`the next payload must be at most ${maxBytes} bytes, but has ${bytes.byteLength}`)
  }
  return bytes
}
