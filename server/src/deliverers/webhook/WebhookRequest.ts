// The request of one attempt: its headers and its body. The bytes of the payload go into the envelope unchanged, so
// they arrive as they were sent. Body and headers are made together, because the headers have the signature of the
// body.
import { createHmac } from "node:crypto"
import { formatInstant } from "@punctual/api/Instant"
import type { WebhookTarget } from "../../domain/Timer.ts"
import type { Fire } from "../../ports/Deliverer.ts"
import { deadType, deathJson, fireOfDead } from "../deathJson.ts"

export interface WebhookRequest {
  readonly headers: Record<string, string>
  /** `undefined` for GET, and for a target with body: payload if there is no payload. */
  readonly body: Uint8Array<ArrayBuffer> | undefined
}

/**
 * `nowMs` is real time, even under a manual clock, because receivers check the age of a request by it. If there are
 * several secrets, as during a rotation, each one signs, and a receiver needs to know only one of them.
 */
export const webhookRequest = (
  fire: Fire,
  target: WebhookTarget,
  nowMs: number,
  secrets: ReadonlyArray<Uint8Array>,
): WebhookRequest => {
  const body = bodyOf(fire, target)
  const timestamp = String(Math.floor(nowMs / 1000))
  const headers: Record<string, string> = {
    "user-agent": "punctual",
    // Without a body there is no content type: frameworks refuse an empty body of type JSON.
    ...(body === undefined ? undefined : jsonType),
    ...(target.headers === undefined ? undefined : callerHeaders(target.headers)),
    // Only a limited part of an answer is read, so the answer must not be compressed.
    "accept-encoding": "identity",
    "webhook-id": fire.fireId,
    "webhook-timestamp": timestamp,
    ...(secrets.length === 0
      ? undefined
      : { "webhook-signature": signaturesOf(secrets, `${fire.fireId}.${timestamp}.`, body) }),
    traceparent: fire.ownTraceparent ?? traceparent(fire),
    // If the body is only the payload, these headers identify the timer.
    "punctual-namespace": fire.namespace,
    "punctual-timer-id": encodeURIComponent(fire.timerId),
    "punctual-execute-at": formatInstant(fire.executeAt),
    "punctual-attempt": String(fire.attempt),
    "punctual-epoch": String(fire.epoch),
    ...(fire.tags === undefined
      ? undefined
      : { "punctual-tags": fire.tags.map(encodeURIComponent).join(",") }),
  }
  return { headers, body }
}

/** Signatures by Standard Webhooks 1.0 over the exact bytes of the body. */
const signaturesOf = (
  secrets: ReadonlyArray<Uint8Array>,
  head: string,
  body: Uint8Array | undefined,
): string =>
  secrets
    .map((secret) => {
      const signing = createHmac("sha256", secret).update(head)
      if (body !== undefined) signing.update(body)
      return `v1,${signing.digest("base64")}`
    })
    .join(" ")

const jsonType = { "content-type": "application/json" }

const bodyOf = (fire: Fire, target: WebhookTarget): Uint8Array<ArrayBuffer> | undefined => {
  if (target.method === "GET") return undefined
  const { payload } = fire
  if (target.body === "payload") return payload === undefined ? undefined : new Uint8Array(payload)
  const { death } = fire
  const head =
    death === undefined ? envelopeHead(fire) : envelopeHead(fireOfDead(fire, death)) + deathJson(death)
  return payload === undefined ? encoder.encode(`${head}}`) : enclose(`${head},"payload":`, payload)
}

const encoder = new TextEncoder()

const envelopeHead = (fire: Fire): string =>
  `{"type":"${fire.death === undefined ? "timer.fired" : deadType}","namespace":${JSON.stringify(fire.namespace)},"timerId":${JSON.stringify(fire.timerId)}` +
  `,"fireId":${JSON.stringify(fire.fireId)},"attempt":${fire.attempt},"maxAttempts":${fire.maxAttempts},"epoch":${fire.epoch}` +
  `,"revision":${fire.revision},"executeAt":"${formatInstant(fire.executeAt)}"` +
  `,"firedAt":"${formatInstant(fire.firedAt)}","correlationId":${JSON.stringify(fire.correlationId)}` +
  (fire.tags === undefined ? "" : `,"tags":${JSON.stringify(fire.tags)}`)

const CLOSE_OBJECT = 0x7d

const enclose = (head: string, payload: Uint8Array): Uint8Array<ArrayBuffer> => {
  const headBytes = encoder.encode(head)
  const body = new Uint8Array(headBytes.length + payload.length + 1)
  body.set(headBytes, 0)
  body.set(payload, headBytes.length)
  body[body.length - 1] = CLOSE_OBJECT
  return body
}

/** The headers of the target in lower case, so that none duplicates a header of the service in another spelling. */
const callerHeaders = (own: Readonly<Record<string, string>>): Record<string, string> => {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) {
    const lower = name.toLowerCase()
    if (!isReservedHeader(lower)) headers[lower] = value
  }
  return headers
}

/** Headers that the service or the connection sets. Callers cannot set them. */
export const isReservedHeader = (lowerCaseName: string): boolean =>
  reserved.has(lowerCaseName) || lowerCaseName.startsWith("webhook-") || lowerCaseName.startsWith("punctual-")

const reserved = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "traceparent",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/**
 * Each attempt is a span of its own. It continues the trace of the caller who created the timer, if there is one. Else the
 * attempts of an arming are one trace, named by its fireId.
 */
const traceparent = ({ fireId, traceparent: callers }: Fire): string =>
  callers === undefined
    ? `00-${uuidHex(fireId)}-${randomHex()}${randomHex()}-01`
    : `00-${callers.slice(3, 35)}-${randomHex()}${randomHex()}-${callers.slice(53, 55)}`

const uuidHex = (uuid: string): string =>
  uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(14, 18) + uuid.slice(19, 23) + uuid.slice(24)

/** Eight digits, and never all zero, which would be an invalid span id. */
const randomHex = (): string =>
  Math.ceil(Math.random() * 0xffff_fffe + 1)
    .toString(16)
    .padStart(8, "0")
