// What the agent accepts as a service call. The rules are here, below HTTP, because a call can also be submitted without
// it. Each answer says what is wrong and how to fix it.
import { callLimits } from "@punctual/api/agent/callLimits"
import { ServiceCallId } from "@punctual/api/agent/ServiceCallId"
import { Schema } from "effect"
import type { RequestSpec } from "./ServiceCall.ts"

const { bodyBytes: requestBytesMax, urlLength: urlBytesMax, headers: mostHeaders, nameBytes } = callLimits
const mostTags = 10
const tagBytesMax = 64
const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

/** Headers that describe the connection. The agent sets them itself. */
const ownHeaders: ReadonlySet<string> = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "keep-alive",
  "proxy-connection",
  "expect",
  "idempotency-key",
])

export const whyNotRequest = (request: RequestSpec): string | undefined =>
  whyNotMethod(request) ??
  whyNotUrl(request.url) ??
  whyNotHeaders(request.headers ?? {}) ??
  whyTooLarge(request)

const whyNotMethod = ({ method, body }: RequestSpec): string | undefined => {
  if (!methods.has(method)) return `The method must be one of ${[...methods].join(", ")}.`
  return body !== undefined && (method === "GET" || method === "HEAD")
    ? `A ${method} request has no body: remove the body, or use another method.`
    : undefined
}

const whyNotUrl = (text: string): string | undefined => {
  if (bytesOf(text) > urlBytesMax) return `The URL may have at most ${urlBytesMax} bytes.`
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return "The URL must be absolute and begin with http:// or https://."
  }
  return url.username === "" && url.password === ""
    ? undefined
    : "The URL must not contain a user name or a password: put them into a header."
}

const whyNotHeaders = (headers: Readonly<Record<string, string>>): string | undefined => {
  const entries = Object.entries(headers)
  if (entries.length > mostHeaders) return `A request may have at most ${mostHeaders} headers.`
  const seen = new Set<string>()
  for (const [name, value] of entries) {
    const shown = JSON.stringify(name.slice(0, 50))
    const lower = name.toLowerCase()
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name)) return `${shown} is not the name of a header.`
    if (ownHeaders.has(lower)) return `The agent sets the header ${shown} itself: remove it.`
    if (seen.has(lower)) return `The header ${shown} is given twice: remove one of them.`
    // Bytes above 0x7f have no common meaning in a header.
    if (!/^[\t\x20-\x7e]*$/.test(value)) return `The value of the header ${shown} must be printable ASCII.`
    seen.add(lower)
  }
  return undefined
}

const whyTooLarge = ({ url, headers = {}, body = "" }: RequestSpec): string | undefined => {
  const bytes = Object.entries(headers).reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    bytesOf(url) + bytesOf(body),
  )
  return bytes > requestBytesMax ? `The request may have at most ${requestBytesMax} bytes.` : undefined
}

export const whyNotName = (name: string): string | undefined =>
  bytesOf(name) > nameBytes || hasControls(name)
    ? `The name must have at most ${nameBytes} bytes and no control characters.`
    : undefined

export const whyNotTags = (tags: ReadonlyArray<string>): string | undefined => {
  if (tags.length > mostTags) return `A call may have at most ${mostTags} tags.`
  if (new Set(tags).size < tags.length) return "A tag is given twice: remove one of them."
  return tags.some((tag) => tag === "" || bytesOf(tag) > tagBytesMax || hasControls(tag))
    ? `A tag must have 1 to ${tagBytesMax} bytes and no control characters.`
    : undefined
}

export const whyNotDueAt = (dueAt: number, nowMs: number): string | undefined => {
  if (!Number.isInteger(dueAt) || dueAt < 0) return "The due time must be an instant after 1970."
  const { aheadMs } = callLimits
  return dueAt > nowMs + aheadMs
    ? `The due time may be at most ${aheadMs / 86_400_000} days ahead.`
    : undefined
}

export const whyNotCallId = (serviceCallId: string): string | undefined =>
  isServiceCallId(serviceCallId)
    ? undefined
    : `The serviceCallId must be text of 1 to ${callLimits.idBytes} bytes of UTF-8 without control characters and without ~.`

const isServiceCallId = Schema.is(ServiceCallId)

const bytesOf = (text: string): number => Buffer.byteLength(text)

/** Lone surrogates have no UTF-8 form, so two texts would be stored as one. */
const hasControls = (text: string): boolean => /\p{Cc}/u.test(text) || !text.isWellFormed()
