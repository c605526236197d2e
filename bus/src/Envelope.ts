/**
 * What every message on the bus is wrapped in. On the wire it is one JSON object. Its payload goes out as the
 * JSON text it is given as, so that what a caller stored leaves as it came: numbers keep their digits.
 */

import { AnyJson } from "@punctual/api/AnyJson"
import { CorrelationId } from "@punctual/api/CorrelationId"
import { malformedMessage } from "@punctual/api/malformedMessage"
import { Namespace } from "@punctual/api/Namespace"
import { idMessage, whyNotId } from "@punctual/api/TimerId"
import { Result, Schema, SchemaParser } from "effect"
import { AggregateId } from "./AggregateId.ts"
import { EnvelopeId } from "./EnvelopeId.ts"

export const MessageType = Schema.String.annotate({ message: idMessage })
  .check(
    Schema.makeFilter(whyNotId, {
      description: "What the message is, such as OrderPlaced.",
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
    "A message: its id, what it is, whose it is, when it was made, which work it belongs to, and its payload.",
})

export type Envelope = typeof Envelope.Type

/** An envelope to be sent: its payload is JSON text, and leaves as it is. */
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

/** Fields that are not known are left alone: an envelope may gain some. */
export const decodeEnvelope = (bytes: Uint8Array): Result.Result<Envelope, string> =>
  Result.flatMap(parseJson(bytes), envelopeOf)

/** The envelope that a parsed JSON value is, or what keeps it from being one. */
export const envelopeOf = (json: unknown): Result.Result<Envelope, string> =>
  Result.mapError(decodeUnknown(json), malformedMessage)

/** The JSON value that the bytes are, if they are valid UTF-8 and valid JSON. */
export const parseJson = (bytes: Uint8Array): Result.Result<unknown, string> => {
  try {
    return Result.succeed(JSON.parse(decoder.decode(bytes)))
  } catch {
    return Result.fail("the message must be JSON in UTF-8")
  }
}

const decodeUnknown = SchemaParser.decodeUnknownResult(Envelope, { errors: "all" })
const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
