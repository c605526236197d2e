/**
 * A message that could not be handled, kept for people to look at: the message itself, byte for byte, the reason, and
 * the number of deliveries. A valid envelope is stored as JSON. Any other message is stored as base64.
 */

import { Count } from "@punctual/api/Count"
import { formatInstant, Instant } from "@punctual/api/Instant"
import { memberSpan, spanBytes } from "@punctual/api/JsonSpan"
import { unknownNamespace } from "@punctual/api/Messages"
import { malformedMessage } from "@punctual/api/malformedMessage"
import { Result, Schema, SchemaParser } from "effect"
import { decodeEnvelope, Envelope, parseJson } from "./Envelope.ts"

/** The tenant of undeliverable messages whose tenant could not be read. No caller can have this name. */
export const unknownTenant = unknownNamespace

export const undeliverableReasons = ["malformed", "refused", "deliveriesExhausted"] as const

const Failure = Schema.Struct({
  at: Instant,
  error: Schema.String,
}).annotate({ description: "When handling failed, and why." })

export type Failure = typeof Failure.Type

export const Undeliverable = Schema.Struct({
  reason: Schema.Literals(undeliverableReasons).annotate({
    description:
      "malformed: it is not an envelope; refused: no retry can help; deliveriesExhausted: it failed too often.",
  }),
  group: Schema.optionalKey(
    Schema.String.annotate({
      description: "The group that could not handle it; absent in records from before groups existed.",
    }),
  ),
  deliveries: Count.annotate({ description: "How often it was delivered before it was stored here." }),
  firstFailure: Failure,
  lastFailure: Failure,
  envelope: Schema.optionalKey(Envelope),
  raw: Schema.optionalKey(Schema.String.annotate({ description: "The message as base64." })),
  isCut: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "The message was too large to be kept whole." }),
  ),
}).annotate({
  message: "must be a JSON object",
  identifier: "Undeliverable",
  description: "A message that could not be handled, and why.",
})

export type Undeliverable = typeof Undeliverable.Type

/** Why a message is undeliverable; the message itself goes with it as bytes. */
export type UndeliverableFacts = Omit<Undeliverable, "envelope" | "raw">

export const encodeUndeliverable = (facts: UndeliverableFacts, original: Uint8Array): Uint8Array => {
  const rest = JSON.stringify({
    reason: facts.reason,
    group: facts.group,
    deliveries: facts.deliveries,
    firstFailure: failureJson(facts.firstFailure),
    lastFailure: failureJson(facts.lastFailure),
    isCut: facts.isCut,
  })
  const isEnvelope = facts.isCut !== true && isBare(original) && Result.isSuccess(decodeEnvelope(original))
  const message = isEnvelope ? `"envelope":${decoder.decode(original)}` : `"raw":"${base64Of(original)}"`
  return encoder.encode(`${rest.slice(0, -1)},${message}}`)
}

export interface OpenedUndeliverable {
  readonly record: Undeliverable
  /** The message as it was received. */
  readonly original: Uint8Array
}

export const decodeUndeliverable = (bytes: Uint8Array): Result.Result<OpenedUndeliverable, string> =>
  Result.flatMap(Result.flatMap(parseJson(bytes), recordOf), (record) => {
    const original = record.raw === undefined ? envelopeBytes(bytes) : bytesOfBase64(record.raw)
    return original === undefined
      ? Result.fail("the record must hold the message, as envelope or as raw base64")
      : Result.succeed({ record, original })
  })

const recordOf = (json: unknown): Result.Result<Undeliverable, string> =>
  Result.mapError(decodeUnknown(json), malformedMessage)

const failureJson = ({ at, error }: Failure) => ({ at: formatInstant(at), error: error.slice(0, errorChars) })

const errorChars = 1_000

/** Whether the JSON has no white space around it. The record would lose such white space. */
const isBare = (json: Uint8Array): boolean => json[0] === OPEN_OBJECT && json.at(-1) === CLOSE_OBJECT

const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const envelopeBytes = (bytes: Uint8Array): Uint8Array | undefined => {
  const text = decoder.decode(bytes)
  const span = memberSpan(text, "envelope")
  return span === undefined ? undefined : spanBytes(text, span)
}

/**
 * Works in pieces: a call takes only a limited number of arguments, and an array of single characters costs far more.
 */
const base64Of = (bytes: Uint8Array): string => {
  let characters = ""
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    characters += String.fromCharCode(...bytes.subarray(at, at + pieceBytes))
  }
  return btoa(characters)
}

const pieceBytes = 8_192

const bytesOfBase64 = (base64: string): Uint8Array | undefined => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

const decodeUnknown = SchemaParser.decodeUnknownResult(Undeliverable, { errors: "all" })
const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
