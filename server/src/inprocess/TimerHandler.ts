// A caller's own function as the target of timers: what it is told, and what it may answer, in the words of the
// webhook contract.
import { parseDuration } from "@punctual/api/DurationMs"
import { parseInstant } from "@punctual/api/Instant"
import type { Handler, HandlerAnswer } from "../deliverers/handler/HandlerDeliverer.ts"
import type { Fire, NextTime } from "../ports/Deliverer.ts"

/** One attempt, as a handler sees it. */
export interface TimerFire {
  readonly namespace: string
  readonly timerId: string
  /** The same on every attempt of an arming, and never used again: drop repeats by it. */
  readonly fireId: string
  /** The first is 1. */
  readonly attempt: number
  readonly executeAt: Date
  readonly firedAt: Date
  readonly correlationId: string
  /** Absent if it has none. */
  readonly tags?: ReadonlyArray<string>
  /** As it was given, through JSON; undefined if there was none. */
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

export const deliverTo =
  (handler: TimerHandler, payloadBytes: number): Handler =>
  (fire) => {
    const said: unknown = handler(fireOf(fire))
    return isThenable(said)
      ? Promise.resolve(said).then((reply) => answerOf(reply, payloadBytes))
      : answerOf(said, payloadBytes)
  }

/** Builders of queries are promises only in that they have a `then`, and do nothing before it is called. */
const isThenable = (said: unknown): said is PromiseLike<unknown> =>
  typeof said === "object" && said !== null && "then" in said && typeof said.then === "function"

const fireOf = ({ namespace, timerId, fireId, attempt, correlationId, ...fire }: Fire): TimerFire => ({
  namespace,
  timerId,
  fireId,
  attempt,
  executeAt: new Date(fire.executeAt),
  firedAt: new Date(fire.firedAt),
  correlationId,
  ...(fire.tags === undefined ? {} : { tags: fire.tags }),
  payload: fire.payload === undefined ? undefined : JSON.parse(decoder.decode(fire.payload)),
})

/** What names no next time is no answer: functions often return what nobody asked for. */
const answerOf = (reply: unknown, payloadBytes: number): HandlerAnswer | undefined => {
  if (typeof reply !== "object" || reply === null) return undefined
  const { nextExecuteAt, nextDelay, payload }: { [name in keyof HandlerReply]?: unknown } = reply
  if (nextExecuteAt === undefined && nextDelay === undefined) return undefined
  const next = nextOf(nextExecuteAt, nextDelay)
  return payload === undefined ? { next } : { next, payload: bytesOf(payload, payloadBytes) }
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
    throw new Error("nextExecuteAt must be a Date, or an instant with an offset such as 2030-01-01T09:00:00Z")
  }
  return { atMs }
}

const bytesOf = (payload: unknown, payloadBytes: number): Uint8Array => {
  const text: string | undefined = JSON.stringify(payload)
  if (text === undefined) throw new Error("the next payload cannot be written as JSON")
  const bytes = encoder.encode(text)
  if (bytes.byteLength > payloadBytes) {
    throw new Error(`the next payload must be at most ${payloadBytes} bytes, and has ${bytes.byteLength}`)
  }
  return bytes
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()
