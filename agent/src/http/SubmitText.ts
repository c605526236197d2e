// Reads the body of a submission. The body of the service call inside it is not parsed: it is cut out of the text, so
// that JSON is sent exactly as it was given, with all digits of its numbers.
//
// No step may hold the thread for long, because the Timer may share it. So a large text is scanned in slices before
// anything reads it, and what remains besides the body of the call must be small.
import { isUtf8 } from "node:buffer"
import { callLimits } from "@punctual/api/agent/callLimits"
import { invalidField } from "@punctual/api/invalidRequest"
import { type JsonFault, JsonScan } from "@punctual/api/JsonScan"
import { isNestedDeeper, type JsonSpan, memberSpan } from "@punctual/api/JsonSpan"
import { bodyForm } from "@punctual/api/Limits"
import { nextTurn } from "@punctual/api/nextTurn"
import { InvalidJson, type Problem } from "@punctual/api/Problem"
import type { RequestRead } from "@punctual/http/RequestText"

/** The body of a service call, as it is sent. */
export class CallBody {
  readonly text: string
  /** The caller gave JSON that is not a text. */
  readonly isJson: boolean

  constructor(text: string, isJson: boolean) {
    this.text = text
    this.isJson = isJson
  }
}

/** A text up to this size is parsed at once. */
const smallBytes = 16 * 1024
/** What a submission may have besides the body of its call: URL, headers, name, tags and ids fit well. */
const restBytesMax = 64 * 1024
const restForm = {
  depthMax: bodyForm.depthMax,
  valuesMax: 2_000,
  ownValuesMax: 2_000,
  ownBytesMax: restBytesMax,
}
const wholeForm = {
  depthMax: bodyForm.depthMax,
  valuesMax: bodyForm.valuesMax,
  ownValuesMax: bodyForm.valuesMax,
  ownBytesMax: callLimits.bodyBytes,
}
const scannedAtOnce = 128 * 1024

export const readSubmission = async (body: Uint8Array): Promise<RequestRead> => {
  const bytes = withoutMark(body)
  if (!isUtf8(bytes)) return { problem: new InvalidJson({ detail: "The body is not valid UTF-8." }) }
  const isLarge = bytes.byteLength > smallBytes
  if (isLarge) {
    const scan = new JsonScan(bytes, wholeForm)
    while (!scan.advance(scannedAtOnce)) await nextTurn()
    if (scan.fault !== undefined) return { problem: problemOfFault(scan.fault) }
    await nextTurn()
  }
  const text = decoder.decode(bytes)
  const malformed = isLarge ? undefined : whyMalformed(text)
  if (malformed !== undefined) return { problem: malformed }
  const span = bodySpan(text)
  if (isLarge) await nextTurn()
  const rest = span === undefined ? text : `${text.slice(0, span.start)}null${text.slice(span.end)}`
  const refused = isLarge ? whyRestTooLarge(rest) : whyTooDeep(text)
  if (refused !== undefined) return { problem: refused }
  const input: unknown = JSON.parse(rest)
  if (span !== undefined && hasRequest(input)) input.request.body = callBody(text.slice(span.start, span.end))
  return { input }
}

/** Where the member `body` of the member `request` is. */
const bodySpan = (text: string): JsonSpan | undefined => {
  const request = memberSpan(text, "request")
  if (request === undefined || text[request.start] !== "{") return undefined
  const inside = memberSpan(text.slice(request.start, request.end), "body")
  return inside && { start: request.start + inside.start, end: request.start + inside.end }
}

const callBody = (json: string): CallBody =>
  json.startsWith('"')
    ? new CallBody(String(JSON.parse(json)).toWellFormed(), false)
    : new CallBody(json, true)

const whyMalformed = (text: string): Problem | undefined => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, "") : ""
    return new InvalidJson({
      detail:
        text === ""
          ? "The body is empty; it must be a JSON object."
          : `The body cannot be parsed as JSON: ${reason.slice(0, 200).toWellFormed()}`,
    })
  }
}

const whyTooDeep = (text: string): Problem | undefined =>
  isNestedDeeper(text, { start: 0, end: text.length }, bodyForm.depthMax)
    ? invalidField("", `must not be nested deeper than ${bodyForm.depthMax} levels (this limit is fixed)`)
    : undefined

const whyRestTooLarge = (rest: string): Problem | undefined => {
  const bytes = encoder.encode(rest)
  if (bytes.byteLength > restBytesMax) {
    return invalidField("", `must have at most ${restBytesMax} bytes besides /request/body`)
  }
  const scan = new JsonScan(bytes, restForm)
  scan.advance(bytes.byteLength + 1)
  return scan.fault === undefined ? undefined : problemOfFault(scan.fault)
}

const problemOfFault = (fault: JsonFault): Problem =>
  fault.kind === "malformed"
    ? new InvalidJson({ detail: `The body cannot be parsed as JSON: ${fault.detail}` })
    : invalidField("", fault.detail)

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

/** A byte order mark is allowed at the start and not a part of the text. */
const withoutMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes

const hasRequest = (input: unknown): input is { request: { body: unknown } } =>
  typeof input === "object" &&
  input !== null &&
  "request" in input &&
  typeof input.request === "object" &&
  input.request !== null
