/**
 * The events by which Orchestration says what became of a service call: ServiceCallSubmitted, ServiceCallScheduled,
 * ServiceCallRunning, ServiceCallSucceeded, ServiceCallFailed, ServiceCallCancelled. They have the same fields. Receivers
 * drop an event whose version is not larger than the one they know. The events contain no part of the request or of the
 * answer that could be secret.
 */
import { Result, Schema, SchemaParser } from "effect"
import { Instant } from "../Instant.ts"
import { malformedMessage } from "../malformedMessage.ts"
import { Namespace } from "../Namespace.ts"
import { ServiceCallId } from "./ServiceCallId.ts"

const changedStates = ["Submitted", "Scheduled", "Running", "Succeeded", "Failed", "Cancelled"] as const

/** The type of the event for a state. */
export const serviceCallEventType = (state: (typeof changedStates)[number]): string => `ServiceCall${state}`

export const serviceCallEventTypes: ReadonlyArray<string> = changedStates.map(serviceCallEventType)

export const ServiceCallChanged = Schema.Struct({
  tenantId: Namespace,
  serviceCallId: ServiceCallId,
  version: Schema.Number,
  state: Schema.Literals(changedStates),
  changedAt: Instant,
  name: Schema.String,
  dueAt: Instant,
  attemptId: Schema.optionalKey(Schema.String),
  /** The status of the answer, if there was one. */
  status: Schema.optionalKey(Schema.Number),
  latencyMs: Schema.optionalKey(Schema.Number),
  /** How the call failed. */
  errorKind: Schema.optionalKey(Schema.String),
}).annotate({
  message: "must be a JSON object",
  identifier: "ServiceCallChanged",
  description: "The service call has reached another state.",
})

export type ServiceCallChanged = typeof ServiceCallChanged.Type

/** Decodes the payload of an envelope. */
export const decodeServiceCallChanged = (payload: unknown): Result.Result<ServiceCallChanged, string> =>
  Result.mapError(decodeUnknown(payload), malformedMessage)

const decodeUnknown = SchemaParser.decodeUnknownResult(ServiceCallChanged, { errors: "all" })
