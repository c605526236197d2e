// OTLP as protobuf. The numbers of the fields are those of opentelemetry-proto 1.x. Only what the products export is
// written, so no library is needed.
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

export const otlpProtobuf: OtlpEncoding = {
  contentType: "application/x-protobuf",
  span: ({ context, parent, link, name, kind, startMicros, endMicros, attributes, error }) => {
    const span = new ProtobufWriter()
    span.hex(1, context.traceId)
    span.hex(2, context.spanId)
    if (parent !== undefined) span.hex(4, parent.spanId)
    span.text(5, name, attributeChars)
    span.number(6, spanKinds[kind])
    span.fixed64(7, startMicros, 1_000)
    span.fixed64(8, endMicros, 1_000)
    span.attributes(9, attributes)
    if (link !== undefined) span.message(13, linkOf(link))
    if (error !== undefined) span.message(15, statusOf(error))
    span.fixed32(16, sampledFlags | (parent === undefined ? 0 : remoteFlags))
    return new ProtobufWriter().message(2, span).bytes()
  },
  log: ({ atMs, severity, severityText, message, attributes, traceId, spanId }) => {
    const log = new ProtobufWriter()
    log.fixed64(1, atMs, 1_000_000)
    log.number(2, severity)
    log.text(3, severityText, attributeChars)
    log.message(5, new ProtobufWriter().text(1, message, messageChars))
    log.attributes(6, attributes)
    if (traceId !== undefined) log.hex(9, traceId)
    if (spanId !== undefined) log.hex(10, spanId)
    log.fixed64(11, atMs, 1_000_000)
    return new ProtobufWriter().message(2, log).bytes()
  },
  // Traces and logs have the same numbers here.
  body: (_signal, resource, records) => {
    const scope = new ProtobufWriter().message(1, new ProtobufWriter().text(1, scopeName, attributeChars))
    for (const record of records) scope.raw(record)
    const ofResource = new ProtobufWriter().attributes(1, resource)
    const group = new ProtobufWriter().message(1, ofResource).message(2, scope)
    return new ProtobufWriter().message(1, group).bytes()
  },
}

const linkOf = ({ traceId, spanId, isSampled }: SpanContext): ProtobufWriter => {
  const link = new ProtobufWriter()
  link.hex(1, traceId)
  link.hex(2, spanId)
  link.fixed32(6, (isSampled ? sampledFlags : sampledFlags - 1) | remoteFlags)
  return link
}

const statusOf = (error: string): ProtobufWriter =>
  new ProtobufWriter().text(2, error, attributeChars).number(3, errorStatus)

const encoder = new TextEncoder()

/** How a field is stored. */
const [varint, eightBytes, delimited, fourBytes] = [0, 1, 2, 5] as const

/** One message. Its parts are kept until `bytes` puts them together. */
class ProtobufWriter {
  readonly #parts: Array<Uint8Array> = []
  #length = 0

  raw(part: Uint8Array): this {
    this.#parts.push(part)
    this.#length += part.length
    return this
  }

  number(field: number, value: number): this {
    return this.#key(field, varint).#varint(BigInt(value))
  }

  fixed32(field: number, value: number): this {
    const bytes = new Uint8Array(4)
    new DataView(bytes.buffer).setUint32(0, value, true)
    return this.#key(field, fourBytes).raw(bytes)
  }

  /** `value` times `factor`, which a number cannot hold exactly. */
  fixed64(field: number, value: number, factor: number): this {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigUint64(0, BigInt(value) * BigInt(factor), true)
    return this.#key(field, eightBytes).raw(bytes)
  }

  text(field: number, text: string, maxChars: number): this {
    return this.#delimited(field, encoder.encode(exportedText(text, maxChars)))
  }

  hex(field: number, text: string): this {
    return this.#delimited(field, Buffer.from(text, "hex"))
  }

  message(field: number, message: ProtobufWriter): this {
    this.#key(field, delimited).#varint(BigInt(message.#length))
    for (const part of message.#parts) this.#parts.push(part)
    this.#length += message.#length
    return this
  }

  attributes(field: number, attributes: TelemetryAttributes): this {
    for (const name in attributes) {
      const value = attributes[name]
      if (value === undefined) continue
      const pair = new ProtobufWriter().text(1, name, attributeChars)
      this.message(field, pair.message(2, anyValueOf(value)))
    }
    return this
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.#length)
    let at = 0
    for (const part of this.#parts) {
      bytes.set(part, at)
      at += part.length
    }
    return bytes
  }

  double(field: number, value: number): this {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setFloat64(0, value, true)
    return this.#key(field, eightBytes).raw(bytes)
  }

  #delimited(field: number, bytes: Uint8Array): this {
    return this.#key(field, delimited).#varint(BigInt(bytes.length)).raw(bytes)
  }

  #key(field: number, stored: number): this {
    return this.#varint(BigInt((field << 3) | stored))
  }

  #varint(value: bigint): this {
    const bytes: Array<number> = []
    // Negative numbers have ten bytes.
    let rest = BigInt.asUintN(64, value)
    while (rest > 0x7fn) {
      bytes.push(Number(rest & 0x7fn) | 0x80)
      rest >>= 7n
    }
    bytes.push(Number(rest))
    return this.raw(Uint8Array.from(bytes))
  }
}

const anyValueOf = (value: AttributeValue): ProtobufWriter => {
  const written = new ProtobufWriter()
  if (typeof value === "string") return written.text(1, value, attributeChars)
  if (typeof value === "boolean") return written.number(2, value ? 1 : 0)
  return Number.isSafeInteger(value) ? written.number(3, value) : written.double(4, value)
}
