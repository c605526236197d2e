/** The event by which Execution says that it is about to call the service. The outcome may arrive before it. */
import { Result, Schema, SchemaParser } from "effect"
import { Instant } from "../Instant.ts"
import { malformedMessage } from "../malformedMessage.ts"
import { Namespace } from "../Namespace.ts"
import { ServiceCallId } from "./ServiceCallId.ts"

export const executionStartedType = "ExecutionStarted"

export const ExecutionStarted = Schema.Struct({
  tenantId: Namespace,
  serviceCallId: ServiceCallId,
  attemptId: Schema.String,
  startedAt: Instant,
}).annotate({
  message: "must be a JSON object",
  identifier: "ExecutionStarted",
  description: "Execution is about to call the service.",
})

export type ExecutionStarted = typeof ExecutionStarted.Type

/** Decodes the payload of an envelope. */
export const decodeExecutionStarted = (payload: unknown): Result.Result<ExecutionStarted, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(ExecutionStarted, { errors: "all" })
