/**
 * What a handler gets: the timer that fires, from the envelope in the body or, for targets with `body: "payload"`, from
 * the headers.
 */
import type { Attempt } from "../contract/timers.ts"
import { parseWithRawPayloads, RawJson } from "../core/RawJson.ts"

/** The body of a webhook. A target with `body: "payload"` sends the payload alone. */
export interface TimerFired<Payload = unknown> {
  readonly type: "timer.fired"
  readonly namespace: string
  readonly timerId: string
  /** The same on every attempt. */
  readonly fireId: string
  /** The first attempt is 1. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly epoch: number
  readonly revision: number
  readonly executeAt: string
  readonly firedAt: string
  readonly correlationId: string
  readonly tags?: ReadonlyArray<string>
  readonly payload?: Payload
}

/** The body of a call to an `onDead` target: the timer that died. */
export interface TimerDead<Payload = unknown> extends Omit<TimerFired<Payload>, "type"> {
  readonly type: "timer.dead"
  readonly reason: string
  readonly attempts: number
  readonly lastAttempt?: Attempt
}

/** Fields that only the envelope has. With `body: "payload"` they are absent. */
type OnlyInEnvelope = "maxAttempts" | "revision" | "firedAt" | "correlationId"

/** A timer that fires, or that has died. */
export interface TimerEvent<Payload = unknown>
  extends Omit<TimerFired<Payload>, "type" | "tags" | OnlyInEnvelope>,
    Partial<Pick<TimerFired, OnlyInEnvelope>>,
    Partial<Pick<TimerDead, "reason" | "attempts" | "lastAttempt">> {
  readonly type: "timer.fired" | "timer.dead" | (string & {})
  readonly tags: ReadonlyArray<string>
  /** The exact text of the payload; undefined if there is none. */
  readonly rawPayload: RawJson | undefined
  /** When Punctual gives up this attempt. */
  readonly deadline: Date
  /** Aborted at the deadline, or when the caller goes away. */
  readonly signal: AbortSignal
  readonly headers: Headers
}

/** The event without the parts that only the handler knows. */
export type ParsedEvent = Omit<TimerEvent, "deadline" | "signal">

/** Throws a SyntaxError if the body is not JSON. */
export const parseEvent = (headers: Headers, body: Uint8Array): ParsedEvent => {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(body)
  const fromHeaders = eventOfHeaders(headers)
  const envelope = text === "" ? undefined : envelopeIn(text, headers)
  if (envelope === undefined) {
    const rawPayload = text === "" ? undefined : new RawJson(text)
    return { ...fromHeaders, ...withPayload(rawPayload) }
  }
  const { payload, ...fields } = envelope
  return { ...fromHeaders, ...fields, ...withPayload(payload) }
}

const withPayload = (rawPayload: RawJson | undefined) => ({
  rawPayload,
  ...(rawPayload === undefined ? {} : { payload: rawPayload.parse() }),
})

/** The envelope names the same fireId as the headers. Anything else is a payload that only looks like one. */
const envelopeIn = (text: string, headers: Headers): { readonly payload?: RawJson } | undefined => {
  const value = parseWithRawPayloads(text, 1)
  if (typeof value !== "object" || value === null || !("fireId" in value) || !("type" in value))
    return undefined
  const isFired = value.type !== "timer.dead" && value.fireId === headers.get("webhook-id")
  const isDead = value.type === "timer.dead" && headers.get("punctual-timer-id") === `_dead.${value.fireId}`
  return isFired || isDead ? (value as { readonly payload?: RawJson }) : undefined
}

const eventOfHeaders = (headers: Headers) => ({
  type: "timer.fired",
  namespace: headers.get("punctual-namespace") ?? "",
  timerId: decodeURIComponent(headers.get("punctual-timer-id") ?? ""),
  fireId: headers.get("webhook-id") ?? "",
  attempt: Number(headers.get("punctual-attempt") ?? 1),
  epoch: Number(headers.get("punctual-epoch") ?? 0),
  executeAt: headers.get("punctual-execute-at") ?? "",
  tags: (headers.get("punctual-tags") ?? "").split(",").filter(Boolean).map(decodeURIComponent),
  headers,
})
