/**
 * The event by which Execution says that the service answered with a status of 2xx. Secret headers of the answer are
 * redacted, and its body is cut.
 */
import { Result, Schema, SchemaParser } from "effect"
import { Instant } from "../Instant.ts"
import { malformedMessage } from "../malformedMessage.ts"
import { Namespace } from "../Namespace.ts"
import { ServiceCallId } from "./ServiceCallId.ts"

export const executionSucceededType = "ExecutionSucceeded"

/** The answer of the called service. */
export const MessageResponseMeta = Schema.Struct({
  status: Schema.Number,
  headers: Schema.Record(Schema.String, Schema.String),
  bodySnippet: Schema.String,
  isCut: Schema.optionalKey(Schema.Boolean),
  latencyMs: Schema.Number,
})

export const ExecutionSucceeded = Schema.Struct({
  tenantId: Namespace,
  serviceCallId: ServiceCallId,
  attemptId: Schema.String,
  finishedAt: Instant,
  responseMeta: MessageResponseMeta,
}).annotate({
  message: "must be a JSON object",
  identifier: "ExecutionSucceeded",
  description: "The service answered with a status of 2xx.",
})

export type ExecutionSucceeded = typeof ExecutionSucceeded.Type

/** Decodes the payload of an envelope. */
export const decodeExecutionSucceeded = (payload: unknown): Result.Result<ExecutionSucceeded, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(ExecutionSucceeded, { errors: "all" })
