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
    scratch.clear()
    const span = scratch.begin(2)
    scratch.hex(1, context.traceId)
    scratch.hex(2, context.spanId)
    if (parent !== undefined) scratch.hex(4, parent.spanId)
    scratch.text(5, name, attributeChars)
    scratch.number(6, spanKinds[kind])
    scratch.fixed64(7, startMicros, 1_000)
    scratch.fixed64(8, endMicros, 1_000)
    writeAttributes(scratch, 9, attributes)
    if (link !== undefined) writeLink(scratch, link)
    if (error !== undefined) {
      const status = scratch.begin(15)
      scratch.text(2, error, attributeChars)
      scratch.number(3, errorStatus)
      scratch.end(status)
    }
    scratch.fixed32(16, sampledFlags | (parent === undefined ? 0 : remoteFlags))
    scratch.end(span)
    return scratch.bytes()
  },
  log: ({ atMs, severity, severityText, message, attributes, traceId, spanId }) => {
    scratch.clear()
    const log = scratch.begin(2)
    scratch.fixed64(1, atMs, 1_000_000)
    scratch.number(2, severity)
    scratch.text(3, severityText, attributeChars)
    const body = scratch.begin(5)
    scratch.text(1, message, messageChars)
    scratch.end(body)
    writeAttributes(scratch, 6, attributes)
    if (traceId !== undefined) scratch.hex(9, traceId)
    if (spanId !== undefined) scratch.hex(10, spanId)
    scratch.fixed64(11, atMs, 1_000_000)
    scratch.end(log)
    return scratch.bytes()
  },
  // Traces and logs have the same numbers here.
  body: (_signal, resource, records) => {
    const length = records.reduce((sum, record) => sum + record.length, 0)
    const writer = new ProtobufWriter(length + scratchBytes)
    const group = writer.begin(1)
    const ofResource = writer.begin(1)
    writeAttributes(writer, 1, resource)
    writer.end(ofResource)
    const ofScope = writer.begin(2)
    const scope = writer.begin(1)
    writer.text(1, scopeName, attributeChars)
    writer.end(scope)
    for (const record of records) writer.raw(record)
    writer.end(ofScope)
    writer.end(group)
    return writer.bytes()
  },
}

const writeLink = (writer: ProtobufWriter, { traceId, spanId, isSampled }: SpanContext): void => {
  const link = writer.begin(13)
  writer.hex(1, traceId)
  writer.hex(2, spanId)
  writer.fixed32(6, (isSampled ? sampledFlags : sampledFlags - 1) | remoteFlags)
  writer.end(link)
}

const writeAttributes = (writer: ProtobufWriter, field: number, attributes: TelemetryAttributes): void => {
  for (const name in attributes) {
    const value = attributes[name]
    if (value === undefined) continue
    const pair = writer.begin(field)
    writer.text(1, name, attributeChars)
    const any = writer.begin(2)
    writeValue(writer, value)
    writer.end(any)
    writer.end(pair)
  }
}

const writeValue = (writer: ProtobufWriter, value: AttributeValue): void => {
  if (typeof value === "string") writer.text(1, value, attributeChars)
  else if (typeof value === "boolean") writer.number(2, value ? 1 : 0)
  else if (Number.isSafeInteger(value)) writer.number(3, value)
  else writer.double(4, value)
}

/** How a field is stored. */
const [varint, eightBytes, delimited, fourBytes] = [0, 1, 2, 5] as const

/** The bytes of a length that is filled in later. Lengths may have leading zeros. */
const messageLengthBytes = 4
const longTextLengthBytes = 3
/** A text of fewer characters has fewer than 128 bytes, so one byte is enough for its length. */
const shortTextChars = 42

/** Writes into one buffer, because a buffer for each part of a span would cost most of its time. */
class ProtobufWriter {
  #buffer: Buffer
  #at = 0

  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes)
  }

  clear(): void {
    this.#at = 0
  }

  /** A copy of what was written. */
  bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer.subarray(0, this.#at))
  }

  /** Begins a message in a field. The result is for `end`. */
  begin(field: number): number {
    this.#key(field, delimited)
    this.#need(messageLengthBytes)
    this.#at += messageLengthBytes
    return this.#at
  }

  end(begun: number): void {
    this.#fillLength(begun - messageLengthBytes, messageLengthBytes, this.#at - begun)
  }

  raw(part: Uint8Array): void {
    this.#need(part.length)
    this.#buffer.set(part, this.#at)
    this.#at += part.length
  }

  number(field: number, value: number): void {
    this.#key(field, varint)
    this.#varint(value)
  }

  double(field: number, value: number): void {
    this.#key(field, eightBytes)
    this.#need(8)
    this.#at = this.#buffer.writeDoubleLE(value, this.#at)
  }

  fixed32(field: number, value: number): void {
    this.#key(field, fourBytes)
    this.#need(4)
    this.#at = this.#buffer.writeUInt32LE(value, this.#at)
  }

  /** `value` times `factor`, which a number cannot hold exactly. */
  fixed64(field: number, value: number, factor: number): void {
    this.#key(field, eightBytes)
    this.#need(8)
    this.#at = this.#buffer.writeBigUInt64LE(BigInt(value) * BigInt(factor), this.#at)
  }

  text(field: number, text: string, maxChars: number): void {
    const exported = exportedText(text, maxChars)
    const lengthBytes = exported.length < shortTextChars ? 1 : longTextLengthBytes
    this.#key(field, delimited)
    this.#need(lengthBytes + 3 * exported.length)
    const written = this.#buffer.write(exported, this.#at + lengthBytes, "utf8")
    this.#fillLength(this.#at, lengthBytes, written)
    this.#at += lengthBytes + written
  }

  hex(field: number, text: string): void {
    this.#key(field, delimited)
    this.#varint(text.length / 2)
    this.#need(text.length / 2)
    this.#at += this.#buffer.write(text, this.#at, "hex")
  }

  #key(field: number, stored: number): void {
    this.#varint((field << 3) | stored)
  }

  #varint(value: number): void {
    this.#need(10)
    if (value < 0) {
      // Negative numbers have ten bytes.
      let rest = BigInt.asUintN(64, BigInt(value))
      for (; rest > 0x7fn; rest >>= 7n) this.#buffer[this.#at++] = Number(rest & 0x7fn) | 0x80
      this.#buffer[this.#at++] = Number(rest)
      return
    }
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) this.#buffer[this.#at++] = (rest % 0x80) | 0x80
    this.#buffer[this.#at++] = rest
  }

  #fillLength(at: number, lengthBytes: number, length: number): void {
    for (let index = 0; index < lengthBytes; index++) {
      const isLast = index === lengthBytes - 1
      this.#buffer[at + index] = ((length >>> (7 * index)) & 0x7f) | (isLast ? 0 : 0x80)
    }
  }

  #need(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#at + bytes))
    larger.set(this.#buffer.subarray(0, this.#at))
    this.#buffer = larger
  }
}

const scratchBytes = 64 * 1024

/** Each record is written at once, so all of them can use the same buffer. */
const scratch = new ProtobufWriter(scratchBytes)
