// Sample service calls in every state, and the terms of their transitions.
import type { CallRecord } from "../src/domain/CallRecord.ts"
import { type CallState, finalStates, type ServiceCall } from "../src/domain/ServiceCall.ts"
import type { AttemptOutcome, TransitionTerms } from "../src/domain/transition.ts"

export const now = 1_800_000_000_000

let ids = 0

/** A UUID that no other call of this function returns. */
export const sampleUuid = (): string => `01890a5d-ac96-774b-bcce-${(++ids).toString(16).padStart(12, "0")}`

export const terms = (nowMs = now): TransitionTerms => ({ nowMs, timeoutMs: 60_000, newId: sampleUuid })

export const sampleOutcomes = {
  succeeded: {
    kind: "succeeded",
    finishedAt: now - 1,
    response: { status: 200, headers: { "content-type": "text/plain" }, bodySnippet: "done", latencyMs: 3 },
  },
  failed: {
    kind: "failed",
    finishedAt: now - 1,
    error: { kind: "timeout", message: "no answer within 60 s", latencyMs: 60_000 },
  },
} as const satisfies Readonly<Record<string, AttemptOutcome>>

const fieldsIn = (state: CallState): Partial<ServiceCall> => {
  const scheduled = { dueTimes: 1, scheduledAtMs: now - 60_000 }
  const running = { ...scheduled, attemptId: "attempt-1", runningAt: now - 50_000 }
  switch (state) {
    case "Submitted":
      return {}
    case "Scheduled":
    case "Cancelled":
      return scheduled
    case "Running":
      return running
    case "Succeeded":
      return { ...running, finishedAt: now - 1, response: sampleOutcomes.succeeded.response }
    case "Failed":
      return { ...running, finishedAt: now - 1, error: sampleOutcomes.failed.error }
  }
}

export const callIn = (state: CallState, changes: Partial<ServiceCall> = {}): ServiceCall => ({
  tenantId: "acme",
  serviceCallId: "call-1",
  version: 1,
  state,
  name: "Remind the customer",
  tags: ["billing"],
  isStarred: false,
  method: "POST",
  host: "example.com",
  shownUrl: "https://example.com/reminders",
  correlationId: "order-4711",
  submittedAt: now - 60_000,
  dueAt: now + 3_600_000,
  dueTimes: 0,
  scheduledAtMs: 0,
  ...fieldsIn(state),
  ...changes,
})

export const recordIn = (state: CallState, changes: Partial<ServiceCall> = {}): CallRecord => {
  const call = callIn(state, changes)
  return {
    call,
    requestHash: "0".repeat(64),
    watchdogs: call.runningAt === undefined ? 0 : 1,
    ...(finalStates.has(state) ? {} : { checkAt: now - 1 }),
    updatedAt: now - 1_000,
    hasLateOutcome: false,
  }
}
