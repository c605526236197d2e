// OTLP as JSON: https://opentelemetry.io/docs/specs/otlp. Ids are hex texts, numbers of 64 bits are texts, and names of
// fields are in lower camel case.
import { errorStatus, type OtlpEncoding, remoteFlags, sampledFlags, scopeName } from "./OtlpEncoding.ts"
import type { SpanContext } from "./SpanContext.ts"
import {
  type AttributeValue,
  attributeChars,
  exportedText,
  messageChars,
  spanKinds,
  type TelemetryAttributes,
} from "./TelemetryRecords.ts"

const encoder = new TextEncoder()

export const otlpJson: OtlpEncoding = {
  contentType: "application/json",
  span: ({ context, parent, link, name, kind, startMicros, endMicros, attributes, error }) =>
    encoder.encode(
      `{"traceId":"${context.traceId}","spanId":"${context.spanId}"` +
        (parent === undefined ? "" : `,"parentSpanId":"${parent.spanId}"`) +
        `,"flags":${sampledFlags | (parent === undefined ? 0 : remoteFlags)}` +
        `,"name":${textJson(name, attributeChars)},"kind":${spanKinds[kind]}` +
        `,"startTimeUnixNano":"${startMicros}000","endTimeUnixNano":"${endMicros}000"` +
        `,"attributes":${attributesJson(attributes)}` +
        (link === undefined ? "" : `,"links":[${linkJson(link)}]`) +
        (error === undefined
          ? ',"status":{}}'
          : `,"status":{"code":${errorStatus},"message":${textJson(error, attributeChars)}}}`),
    ),
  log: ({ atMs, severity, severityText, message, attributes, traceId, spanId }) =>
    encoder.encode(
      `{"timeUnixNano":"${atMs}000000","observedTimeUnixNano":"${atMs}000000"` +
        `,"severityNumber":${severity},"severityText":${textJson(severityText, attributeChars)}` +
        `,"body":{"stringValue":${textJson(message, messageChars)}}` +
        `,"attributes":${attributesJson(attributes)}` +
        (traceId === undefined ? "" : `,"traceId":"${traceId}"`) +
        (spanId === undefined ? "}" : `,"spanId":"${spanId}"}`),
    ),
  body: (signal, resource, records) => {
    const [outer, inner, items] =
      signal === "traces"
        ? ["resourceSpans", "scopeSpans", "spans"]
        : ["resourceLogs", "scopeLogs", "logRecords"]
    const head = `{"${outer}":[{"resource":{"attributes":${attributesJson(resource)}},"${inner}":[{"scope":{"name":"${scopeName}"},"${items}":[`
    return joined(encoder.encode(head), records, encoder.encode("]}]}]}"))
  },
}

const linkJson = ({ traceId, spanId, isSampled }: SpanContext): string =>
  `{"traceId":"${traceId}","spanId":"${spanId}","flags":${(isSampled ? sampledFlags : sampledFlags - 1) | remoteFlags}}`

const textJson = (text: string, maxChars: number): string =>
  text.length <= maxChars && plain.test(text) ? `"${text}"` : JSON.stringify(exportedText(text, maxChars))

/** Most texts need no escapes, and a check is much cheaper than to write them with escapes. */
const plain = /^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/

const attributesJson = (attributes: TelemetryAttributes): string => {
  let text = "["
  for (const name in attributes) {
    const value = attributes[name]
    if (value === undefined) continue
    text += `${text === "[" ? "" : ","}{"key":${textJson(name, attributeChars)},"value":${valueJson(value)}}`
  }
  return `${text}]`
}

const valueJson = (value: AttributeValue): string => {
  if (typeof value === "string") return `{"stringValue":${textJson(value, attributeChars)}}`
  if (typeof value === "boolean") return `{"boolValue":${value}}`
  if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`
  return Number.isFinite(value) ? `{"doubleValue":${value}}` : `{"stringValue":"${value}"}`
}

const comma = 0x2c

const joined = (
  head: Uint8Array,
  records: ReadonlyArray<Uint8Array>,
  tail: Uint8Array,
): Uint8Array<ArrayBuffer> => {
  const length = records.reduce((sum, record) => sum + record.length + 1, head.length + tail.length)
  const body = new Uint8Array(records.length === 0 ? length : length - 1)
  body.set(head)
  let at = head.length
  for (const record of records) {
    if (at > head.length) body[at++] = comma
    body.set(record, at)
    at += record.length
  }
  body.set(tail, at)
  return body
}
