// The messages by which Execution says what became of an attempt.
import { executionFailedType } from "@punctual/api/agent/ExecutionFailed"
import { executionStartedType } from "@punctual/api/agent/ExecutionStarted"
import { executionSucceededType } from "@punctual/api/agent/ExecutionSucceeded"
import { formatInstant } from "@punctual/api/Instant"
import type { OutboxMessage } from "../domain/OutboxMessage.ts"
import type { AttemptOutcome } from "../domain/transition.ts"

export interface MessageHead {
  readonly id: string
  readonly nowMs: number
  readonly correlationId: string
  readonly causationId?: string
}

export interface NamedAttempt {
  readonly tenantId: string
  readonly serviceCallId: string
  readonly attemptId: string
}

export const startedMessage = (attempt: NamedAttempt, startedAt: number, head: MessageHead): OutboxMessage =>
  messageWith(executionStartedType, attempt, { startedAt: formatInstant(startedAt) }, head)

export const outcomeMessage = (
  attempt: NamedAttempt,
  outcome: AttemptOutcome,
  head: MessageHead,
): OutboxMessage => {
  const finishedAt = formatInstant(outcome.finishedAt)
  return outcome.kind === "succeeded"
    ? messageWith(executionSucceededType, attempt, { finishedAt, responseMeta: outcome.response }, head)
    : messageWith(executionFailedType, attempt, { finishedAt, errorMeta: outcome.error }, head)
}

const messageWith = (
  type: string,
  { tenantId, serviceCallId, attemptId }: NamedAttempt,
  content: object,
  { id, nowMs, correlationId, causationId }: MessageHead,
): OutboxMessage => ({
  id,
  type,
  aggregateId: serviceCallId,
  timestampMs: nowMs,
  correlationId,
  ...(causationId === undefined ? {} : { causationId }),
  payloadJson: JSON.stringify({ tenantId, serviceCallId, attemptId, ...content }),
})
