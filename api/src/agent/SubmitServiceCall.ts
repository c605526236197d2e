/**
 * The command by which the API hands a stored service call over to Orchestration. It does not contain the headers and
 * the body of the request: they may be secret, and a broker keeps messages on disk. Whoever needs them reads them from
 * the agent's store, where they are sealed. Unknown fields are ignored, because later versions may have more.
 */
import { Result, Schema, SchemaParser } from "effect"
import { Instant } from "../Instant.ts"
import { malformedMessage } from "../malformedMessage.ts"
import { Namespace } from "../Namespace.ts"
import { ServiceCallId } from "./ServiceCallId.ts"

export const submitServiceCallType = "SubmitServiceCall"

/** The request as messages show it: the URL is without its query. */
export const MessageRequestSpec = Schema.Struct({ method: Schema.String, url: Schema.String })

export const SubmitServiceCall = Schema.Struct({
  tenantId: Namespace,
  serviceCallId: ServiceCallId,
  name: Schema.String,
  dueAt: Instant,
  requestSpec: MessageRequestSpec,
  tags: Schema.optionalKey(Schema.Array(Schema.String)),
}).annotate({
  message: "must be a JSON object",
  identifier: "SubmitServiceCall",
  description: "Hands a stored service call over to Orchestration.",
})

export type SubmitServiceCall = typeof SubmitServiceCall.Type

/** Decodes the payload of an envelope. */
export const decodeSubmitServiceCall = (payload: unknown): Result.Result<SubmitServiceCall, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(SubmitServiceCall, { errors: "all" })
