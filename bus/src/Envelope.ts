/**
 * The wrapper of every message on the bus. On the wire it is one JSON object. The payload is sent as the JSON text that
 * the caller gave, so numbers keep their digits.
 */

import { AnyJson } from "@punctual/api/AnyJson"
import { CorrelationId } from "@punctual/api/CorrelationId"
import { JsonScan } from "@punctual/api/JsonScan"
import { bodyForm } from "@punctual/api/Limits"
import { malformedMessage } from "@punctual/api/malformedMessage"
import { Namespace } from "@punctual/api/Namespace"
import { idMessage, whyNotId } from "@punctual/api/TimerId"
import { Result, Schema, SchemaParser } from "effect"
import { AggregateId } from "./AggregateId.ts"
import { EnvelopeId } from "./EnvelopeId.ts"

export const MessageType = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotId, {
      description: "The type of the message, such as OrderPlaced.",
      examples: ["OrderPlaced"],
    }),
  )
  .pipe(Schema.brand("MessageType"))

export type MessageType = typeof MessageType.Type

const timestampMessage = "must be whole milliseconds since 1970-01-01T00:00:00Z"

const TimestampMs = Schema.Number.annotate({ message: timestampMessage }).check(
  Schema.makeFilter(
    (value: number) =>
      Number.isSafeInteger(value) && value >= 0 && value <= 253_402_300_799_999
        ? undefined
        : timestampMessage,
    { description: "When the sender made the message, by its own clock." },
  ),
)

const head = {
  id: EnvelopeId,
  type: MessageType,
  tenantId: Namespace,
  aggregateId: AggregateId,
  timestampMs: TimestampMs,
  correlationId: Schema.optionalKey(CorrelationId),
  causationId: Schema.optionalKey(CorrelationId),
}

export const Envelope = Schema.Struct({ ...head, payload: AnyJson }).annotate({
  message: "must be a JSON object",
  identifier: "Envelope",
  description:
    "A message: its id, its type, its tenant, when it was made, which work it belongs to, and its payload.",
})

export type Envelope = typeof Envelope.Type

/** An envelope to send. Its payload is JSON text, and is sent unchanged. */
export interface OutgoingEnvelope extends Omit<Envelope, "payload"> {
  readonly payloadJson: string
}

export const outgoingEnvelope = ({ payload, ...rest }: Envelope): OutgoingEnvelope => ({
  ...rest,
  payloadJson: JSON.stringify(payload),
})

export const encodeEnvelope = (envelope: OutgoingEnvelope): Uint8Array => {
  const { id, type, tenantId, aggregateId, timestampMs, correlationId, causationId } = envelope
  const rest = JSON.stringify({ id, type, tenantId, aggregateId, timestampMs, correlationId, causationId })
  return encoder.encode(`${rest.slice(0, -1)},"payload":${envelope.payloadJson}}`)
}

/** Decodes an envelope and ignores unknown fields, because later versions may add some. */
export const decodeEnvelope = (bytes: Uint8Array): Result.Result<Envelope, string> =>
  Result.flatMap(parseJson(bytes), envelopeOf)

/** Makes an envelope of a parsed JSON value, or says why the value is not an envelope. */
export const envelopeOf = (json: unknown): Result.Result<Envelope, string> =>
  Result.mapError(decodeUnknown(json), malformedMessage)

/** Parses the bytes if they are valid UTF-8 and valid JSON, and if parsing them does not take long. */
export const parseJson = (bytes: Uint8Array): Result.Result<unknown, string> => {
  if (bytes.byteLength > unscannedBytes) {
    const scan = new JsonScan(bytes, messageForm)
    scan.advance(bytes.byteLength)
    if (scan.fault?.kind === "exceeds") return Result.fail(`the message ${scan.fault.detail}`)
  }
  try {
    return Result.succeed(JSON.parse(decoder.decode(bytes)))
  } catch {
    return Result.fail("the message must be JSON in UTF-8")
  }
}

/** A message up to this size is parsed in a few milliseconds in any case. */
const unscannedBytes = 64 * 1024
/** Limits of larger messages. They have up to 1 MiB, and are handled in one step on the thread that also fires timers. */
const messageForm = {
  depthMax: bodyForm.depthMax,
  valuesMax: 50_000,
  ownValuesMax: Number.POSITIVE_INFINITY,
  ownBytesMax: Number.POSITIVE_INFINITY,
}

const decodeUnknown = SchemaParser.decodeUnknownResult(Envelope, { errors: "all" })
const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
