// The meaning of a receiver's answer: the table of the webhook contract as one pure function.
//
// This file decides two cases that the table leaves open. `punctual-retry: never` counts for every answer that would
// otherwise be retried, so also for a 2xx with `{"ok": false}`. On an answer that delivers, it has no meaning. JSON
// that is longer than the read limit cannot be parsed: if the part that was read has `ok`, the attempt is retried.
// Otherwise it is an ordinary long answer, and only the status counts.
import { parseDuration } from "@punctual/api/DurationMs"
import { parseInstant } from "@punctual/api/Instant"
import { isNestedDeeper, memberSpan, spanBytes } from "@punctual/api/JsonSpan"
import { bodyForm, limitHint } from "@punctual/api/Limits"
import type { AnswerBody } from "@punctual/egress/readAnswer"
import type { Attempted, NextTime } from "../../ports/Deliverer.ts"

export interface Answer {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  /** The part of the body that was read: JSON for a success status, the first bytes for a failure status. */
  readonly body: AnswerBody | undefined
}

/** `nowMs` is real time, even under a manual clock, because HTTP dates are real times. */
export const interpretAnswer = (answer: Answer, nowMs: number, payloadBytes: number): Attempted => {
  const { status } = answer
  if (status >= 200 && status < 300) return interpretSuccess(answer, nowMs, payloadBytes)
  if (status === 410 || status === 400 || status === 422) return refused(answer)
  return retry(answer, nowMs, `answered ${status}`)
}

const interpretSuccess = (answer: Answer, nowMs: number, payloadBytes: number): Attempted => {
  const { status, body } = answer
  if (body === undefined) return { kind: "delivered", status }
  if (body.isCut) {
    if (memberSpan(body.text, "ok") === undefined) return { kind: "delivered", status }
    return retry(answer, nowMs, tooLong)
  }
  const said = parseObject(body.text)
  if (said === undefined || !Object.hasOwn(said, "ok")) return { kind: "delivered", status }
  const { ok } = said
  if (typeof ok !== "boolean") return retry(answer, nowMs, "answered with an ok that is not true or false")
  const next = nextTimeOf(said)
  if (next === "malformed") return retry(answer, nowMs, malformedTime)
  if (!ok) return retry(answer, nowMs, "answered ok: false", next)
  if (next === undefined) return { kind: "delivered", status }
  const span = memberSpan(body.text, "payload")
  if (span === undefined) return { kind: "rearm", status, next }
  if (isNestedDeeper(body.text, span, bodyForm.depthMax - levelsAroundPayload))
    return retry(answer, nowMs, tooDeep)
  const payload = spanBytes(body.text, span)
  return payload.byteLength > payloadBytes
    ? retry(
        answer,
        nowMs,
        `answered with a payload of ${payload.byteLength} bytes; at most ${payloadBytes}${limitHint("payloadBytes")}`,
      )
    : { kind: "rearm", status, next, payload }
}

const tooLong = "answered with more JSON than is read, a new payload included"
/** The answer itself is one level, as the body of a request is. */
const levelsAroundPayload = 1
const tooDeep = `answered with a payload that is nested deeper than ${bodyForm.depthMax} levels`
const malformedTime = "answered with a nextExecuteAt or nextDelay that cannot be read, or with both"

const parseObject = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Many serialisers write absent fields as null, so null counts as absent. */
const nextTimeOf = (said: Record<string, unknown>): NextTime | "malformed" | undefined => {
  const nextExecuteAt = said["nextExecuteAt"] ?? undefined
  const nextDelay = said["nextDelay"] ?? undefined
  if (nextExecuteAt === undefined && nextDelay === undefined) return undefined
  if (nextExecuteAt !== undefined && nextDelay !== undefined) return "malformed"
  if (typeof nextExecuteAt === "string") {
    const atMs = parseInstant(nextExecuteAt)
    return atMs === undefined ? "malformed" : { atMs }
  }
  if (typeof nextDelay === "string") {
    const inMs = parseDuration(nextDelay)
    return inMs === undefined ? "malformed" : { inMs }
  }
  return "malformed"
}

const retry = (answer: Answer, nowMs: number, error: string, next?: NextTime): Attempted => {
  if (answer.headers.get("punctual-retry")?.trim().toLowerCase() === "never") return refused(answer)
  const retryAfterMs = retryAfterMsOf(answer.headers.get("retry-after"), nowMs)
  return {
    kind: "retry",
    status: answer.status,
    error,
    ...keptOf(answer),
    isHostFailure: answer.status >= 500,
    ...(next === undefined ? {} : { next }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

const refused = (answer: Answer): Attempted => ({
  kind: "dead",
  reason: "refused",
  error: `answered ${answer.status}: not to be repeated`,
  status: answer.status,
  ...keptOf(answer),
})

/** To parse a longer answer, and to cut out its payload, takes up to a millisecond. */
export const largeAnswerChars = 4_096

/** How long the text of a failure may take after its status. The text is only for people. */
export const failureTextWithinMs = 1_000

/** How much of the answer to a failed attempt is kept. */
export const keptAnswerBytes = 512

/** The beginning of the body, cut between characters. Replacements of invalid UTF-8 may be longer than the original. */
const keptOf = ({ body }: Answer): { readonly answer?: string } => {
  if (body === undefined || body.text === "") return {}
  const { read } = encoder.encodeInto(body.text, keptBytes)
  return { answer: body.text.slice(0, read) }
}

const encoder = new TextEncoder()
/** A buffer that only limits the size. */
const keptBytes = new Uint8Array(keptAnswerBytes)

/** Whole seconds or an HTTP date. Other values are ignored. */
const retryAfterMsOf = (value: string | null, nowMs: number): number | undefined => {
  if (value === null) return undefined
  const text = value.trim()
  if (/^\d{1,12}$/.test(text)) return Number(text) * 1000
  // Every form of an HTTP date begins with the day of the week.
  const atMs = /^[A-Z][a-z]{2}/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}
