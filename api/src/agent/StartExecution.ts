/**
 * The command that starts the one attempt of a service call. It may arrive several times: the attempt's id decides that
 * the service is called at most once. Execution reads the headers and the body of the request from the agent's store.
 */
import { Result, Schema, SchemaParser } from "effect"
import { malformedMessage } from "../malformedMessage.ts"
import { Namespace } from "../Namespace.ts"
import { ServiceCallId } from "./ServiceCallId.ts"
import { MessageRequestSpec } from "./SubmitServiceCall.ts"

export const startExecutionType = "StartExecution"

/** The longest time that a call may take. */
export const callTimeoutMsMax = 300_000

const timeoutMessage = `must be a whole number of milliseconds from 1 to ${callTimeoutMsMax}`

export const StartExecution = Schema.Struct({
  tenantId: Namespace,
  serviceCallId: ServiceCallId,
  attemptId: Schema.String.check(Schema.isBetweenLength(1, 100)),
  requestSpec: MessageRequestSpec,
  timeoutMs: Schema.Number.annotate({ message: timeoutMessage }).check(
    Schema.makeFilter((value: number) =>
      Number.isInteger(value) && value >= 1 && value <= callTimeoutMsMax ? undefined : timeoutMessage,
    ),
  ),
}).annotate({
  message: "must be a JSON object",
  identifier: "StartExecution",
  description: "Starts the attempt of a service call, unless the attempt was started before.",
})

export type StartExecution = typeof StartExecution.Type

/** Decodes the payload of an envelope. */
export const decodeStartExecution = (payload: unknown): Result.Result<StartExecution, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(StartExecution, { errors: "all" })
