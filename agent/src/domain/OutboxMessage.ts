// A message that a change of a call causes. It is stored in the same transaction as the change, and published later. The
// functions here make the messages of the agent.

import { serviceCallEventType } from "@punctual/api/agent/ServiceCallChanged"
import { startExecutionType } from "@punctual/api/agent/StartExecution"
import { submitServiceCallType } from "@punctual/api/agent/SubmitServiceCall"
import { cancelTimerType } from "@punctual/api/CancelTimer"
import { formatInstant } from "@punctual/api/Instant"
import { scheduleTimerType } from "@punctual/api/ScheduleTimer"
import type { ServiceCall } from "./ServiceCall.ts"

/** The message that caused a change. Time and users cause changes too; then there is none. */
export interface MessageCause {
  readonly messageId: string
  readonly causationId?: string
}

export interface OutboxMessage {
  readonly id: string
  readonly type: string
  readonly aggregateId: string
  readonly timestampMs: number
  readonly correlationId: string
  readonly causationId?: string
  readonly payloadJson: string
}

/** What every message needs beside its own content. */
export interface MessageTerms {
  readonly nowMs: number
  /** Makes a UUID v7. */
  readonly newId: () => string
  readonly cause?: MessageCause
}

export interface MessageContent {
  readonly type: string
  readonly payload: object
  /** The call's id if absent. */
  readonly aggregateId?: string
  readonly timestampMs?: number
}

export const outboxMessage = (
  call: Pick<ServiceCall, "serviceCallId" | "correlationId">,
  { type, payload, aggregateId = call.serviceCallId, timestampMs }: MessageContent,
  { nowMs, newId, cause }: MessageTerms,
): OutboxMessage => ({
  id: newId(),
  type,
  aggregateId,
  timestampMs: timestampMs ?? nowMs,
  correlationId: call.correlationId,
  ...(cause === undefined ? {} : { causationId: cause.messageId }),
  payloadJson: JSON.stringify(payload),
})

export const submitContent = (call: ServiceCall): MessageContent => ({
  type: submitServiceCallType,
  payload: {
    ...keyOf(call),
    name: call.name,
    dueAt: formatInstant(call.dueAt),
    requestSpec: requestIn(call),
    ...(call.tags.length === 0 ? {} : { tags: call.tags }),
  },
})

export const startContent = (call: ServiceCall, timeoutMs: number): MessageContent => ({
  type: startExecutionType,
  payload: { ...keyOf(call), attemptId: call.attemptId, requestSpec: requestIn(call), timeoutMs },
})

/** The Timer orders the commands of a timer by `timestampMs`. */
export const scheduleContent = (
  { tenantId }: ServiceCall,
  timer: { readonly id: string; readonly dueAt: number; readonly timestampMs: number },
): MessageContent => ({
  type: scheduleTimerType,
  aggregateId: timer.id,
  timestampMs: timer.timestampMs,
  payload: { tenantId, serviceCallId: timer.id, dueAt: formatInstant(timer.dueAt) },
})

export const cancelContent = (
  { tenantId }: ServiceCall,
  timer: { readonly id: string; readonly timestampMs: number },
): MessageContent => ({
  type: cancelTimerType,
  aggregateId: timer.id,
  timestampMs: timer.timestampMs,
  payload: { tenantId, serviceCallId: timer.id },
})

/** The event that tells others about the call's state. */
export const changedContent = (call: ServiceCall, changedAt: number): MessageContent => {
  const { version, state, name, dueAt, attemptId, response, error } = call
  const answer = response ?? error?.response
  const latencyMs = response?.latencyMs ?? error?.latencyMs
  return {
    type: serviceCallEventType(state),
    payload: {
      ...keyOf(call),
      version,
      state,
      changedAt: formatInstant(changedAt),
      name,
      dueAt: formatInstant(dueAt),
      ...(attemptId === undefined ? {} : { attemptId }),
      ...(answer === undefined ? {} : { status: answer.status }),
      ...(latencyMs === undefined ? {} : { latencyMs }),
      ...(error === undefined ? {} : { errorKind: error.kind }),
    },
  }
}

const keyOf = ({ tenantId, serviceCallId }: ServiceCall) => ({ tenantId, serviceCallId })

const requestIn = ({ method, shownUrl }: ServiceCall) => ({ method, url: shownUrl })
