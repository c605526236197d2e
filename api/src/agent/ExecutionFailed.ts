/** The event by which Execution says that the call failed, and how. There is no second attempt. */
import { Result, Schema, SchemaParser } from "effect"
import { Instant } from "../Instant.ts"
import { malformedMessage } from "../malformedMessage.ts"
import { Namespace } from "../Namespace.ts"
import { MessageResponseMeta } from "./ExecutionSucceeded.ts"
import { ServiceCallId } from "./ServiceCallId.ts"

export const executionFailedType = "ExecutionFailed"

export const ExecutionFailed = Schema.Struct({
  tenantId: Namespace,
  serviceCallId: ServiceCallId,
  attemptId: Schema.String,
  finishedAt: Instant,
  errorMeta: Schema.Struct({
    kind: Schema.Literals(["status", "timeout", "network", "egressRefused", "outcomeUnknown"]),
    message: Schema.String,
    latencyMs: Schema.optionalKey(Schema.Number),
    /** The answer, if there was one. */
    response: Schema.optionalKey(MessageResponseMeta),
  }),
}).annotate({
  message: "must be a JSON object",
  identifier: "ExecutionFailed",
  description:
    "The call failed: by its status, a time-out, the network or the egress rules, or with an unknown outcome.",
})

export type ExecutionFailed = typeof ExecutionFailed.Type

/** Decodes the payload of an envelope. */
export const decodeExecutionFailed = (payload: unknown): Result.Result<ExecutionFailed, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(ExecutionFailed, { errors: "all" })
