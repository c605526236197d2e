/** The event that a timer fires as, over the bus. Its envelope's id is the fireId: receivers drop repeats by it. */
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
  description: "A timer's due time has come; the payload is the one it was created with, if it had any.",
})

export type DueTimeReached = typeof DueTimeReached.Type

/** The event as JSON text; the timer's payload is text already, and stays as it is. */
export const dueTimeReachedJson = (
  event: Omit<DueTimeReached, "payload">,
  payloadJson: string | undefined,
): string => {
  const { tenantId, serviceCallId, reachedAt } = event
  const rest = JSON.stringify({ tenantId, serviceCallId, reachedAt: formatInstant(reachedAt) })
  return payloadJson === undefined ? rest : `${rest.slice(0, -1)},"payload":${payloadJson}}`
}

/** From an envelope's payload. */
export const decodeDueTimeReached = (payload: unknown): Result.Result<DueTimeReached, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(DueTimeReached, { errors: "all" })
