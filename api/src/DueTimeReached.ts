/**
 * The event that a timer with an event target sends over the bus. The id of its envelope is the fireId, by which
 * receivers drop repeats.
 */
import { Result, Schema, SchemaParser } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { formatInstant, Instant } from "./Instant.ts"
import { malformedMessage } from "./malformedMessage.ts"
import { Namespace } from "./Namespace.ts"
import { TimerId } from "./TimerId.ts"

export const dueTimeReachedType = "DueTimeReached"

export const DueTimeReached = Schema.Struct({
  tenantId: Namespace,
  serviceCallId: TimerId,
  reachedAt: Instant,
  payload: Schema.optionalKey(AnyJson),
}).annotate({
  message: "must be a JSON object",
  identifier: "DueTimeReached",
  description: "A timer is due. The payload is the payload of the timer, if it has one.",
})

export type DueTimeReached = typeof DueTimeReached.Type

/** The event as JSON text. The payload is already JSON text and stays unchanged. */
export const dueTimeReachedJson = (
  event: Omit<DueTimeReached, "payload">,
  payloadJson: string | undefined,
): string => {
  const { tenantId, serviceCallId, reachedAt } = event
  const rest = JSON.stringify({ tenantId, serviceCallId, reachedAt: formatInstant(reachedAt) })
  return payloadJson === undefined ? rest : `${rest.slice(0, -1)},"payload":${payloadJson}}`
}

/** Decodes the payload of an envelope. */
export const decodeDueTimeReached = (payload: unknown): Result.Result<DueTimeReached, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(DueTimeReached, { errors: "all" })
