// Every state × every message × (right, stale, other): what the call becomes, what is noted, and what is sent. The
// table is written by hand, so that it checks the rules and does not repeat the code.
import { describe, expect, test } from "bun:test"
import {
  type CallRecord,
  longestWaitMs,
  sweepGraceMs,
  watchdogMarginMs,
} from "../../src/domain/CallRecord.ts"
import { type CallState, callStates, finalStates } from "../../src/domain/ServiceCall.ts"
import { type CallMessage, transition } from "../../src/domain/transition.ts"
import { now, recordIn, sampleOutcomes, terms } from "../../testkit/sampleCalls.ts"

const { succeeded, failed } = sampleOutcomes

/** Each message that the table has a row for. "right" fits the sample record; the others must be ignored. */
const messages = {
  submit: { kind: "submit" },
  "due, right n": { kind: "dueTimeReached", n: 1 },
  "due, stale n": { kind: "dueTimeReached", n: 0 },
  "watchdog, right n, calling for too long": {
    kind: "watchdog",
    n: 1,
    attempt: { state: "calling", startedAt: now - 60_000 - watchdogMarginMs },
  },
  "watchdog, right n, calling since a moment ago": {
    kind: "watchdog",
    n: 1,
    attempt: { state: "calling", startedAt: now - 1 },
  },
  "watchdog, right n, waiting for its turn": { kind: "watchdog", n: 1, attempt: { state: "claimed" } },
  "watchdog, right n, never seen": { kind: "watchdog", n: 1 },
  "watchdog, right n, ended": { kind: "watchdog", n: 1, attempt: { state: "ended", outcome: succeeded } },
  "watchdog, stale n": { kind: "watchdog", n: 0 },
  "started, right attempt": { kind: "executionStarted", attemptId: "attempt-1", startedAt: now - 5 },
  "started, other attempt": { kind: "executionStarted", attemptId: "attempt-2", startedAt: now - 5 },
  "succeeded, right attempt": { kind: "executionEnded", attemptId: "attempt-1", outcome: succeeded },
  "succeeded, other attempt": { kind: "executionEnded", attemptId: "attempt-2", outcome: succeeded },
  "failed, right attempt": { kind: "executionEnded", attemptId: "attempt-1", outcome: failed },
  "failed, other attempt": { kind: "executionEnded", attemptId: "attempt-2", outcome: failed },
  cancel: { kind: "cancel" },
  "reschedule, later": { kind: "reschedule", dueAt: now + 5_000 },
  "reschedule, to the past": { kind: "reschedule", dueAt: now - 1 },
  sweep: { kind: "sweep" },
} satisfies Readonly<Record<string, CallMessage>>

type MessageName = keyof typeof messages

/** `state after: messages sent`; the number is that of new timeline lines. Everything else is ignored. */
const effects: Readonly<Record<string, readonly [CallState, number, string]>> = {
  "Submitted | submit": ["Scheduled", 1, "ScheduleTimer call-1~d1, ServiceCallScheduled"],
  "Submitted | cancel": ["Cancelled", 1, "ServiceCallCancelled"],
  "Submitted | sweep": ["Scheduled", 1, "ScheduleTimer call-1~d1, ServiceCallScheduled"],
  "Scheduled | due, right n": ["Running", 1, "StartExecution, ScheduleTimer call-1~w1, ServiceCallRunning"],
  "Scheduled | cancel": ["Cancelled", 1, "CancelTimer call-1~d1, ServiceCallCancelled"],
  "Scheduled | reschedule, later": [
    "Scheduled",
    1,
    "CancelTimer call-1~d1, ScheduleTimer call-1~d2, ServiceCallScheduled",
  ],
  "Scheduled | reschedule, to the past": [
    "Running",
    2,
    "CancelTimer call-1~d1, StartExecution, ScheduleTimer call-1~w1, ServiceCallScheduled, ServiceCallRunning",
  ],
  "Scheduled | sweep": ["Scheduled", 0, "ScheduleTimer call-1~d1"],
  "Running | watchdog, right n, calling for too long": [
    "Failed",
    1,
    "CancelTimer call-1~w1, ServiceCallFailed",
  ],
  "Running | watchdog, right n, calling since a moment ago": ["Running", 0, "ScheduleTimer call-1~w2"],
  "Running | watchdog, right n, waiting for its turn": [
    "Running",
    0,
    "StartExecution, ScheduleTimer call-1~w2",
  ],
  "Running | watchdog, right n, never seen": ["Running", 0, "StartExecution, ScheduleTimer call-1~w2"],
  "Running | watchdog, right n, ended": ["Succeeded", 1, "CancelTimer call-1~w1, ServiceCallSucceeded"],
  "Running | started, right attempt": ["Running", 1, ""],
  "Running | succeeded, right attempt": ["Succeeded", 1, "CancelTimer call-1~w1, ServiceCallSucceeded"],
  "Running | failed, right attempt": ["Failed", 1, "CancelTimer call-1~w1, ServiceCallFailed"],
  "Running | sweep": ["Running", 0, "StartExecution, ScheduleTimer call-1~w2"],
}

/** What users must be told. */
const conflicts = (state: CallState, name: MessageName): boolean =>
  (name === "cancel" && ["Running", "Succeeded", "Failed"].includes(state)) ||
  (name.startsWith("reschedule") && state !== "Scheduled")

const sentBy = (record: CallRecord, message: CallMessage): string => {
  const decision = transition(record, message, terms())
  if (decision.kind !== "changed") throw new Error(`${decision.kind}: nothing was sent`)
  return decision.change.messages
    .map(({ type, aggregateId }) => (aggregateId === "call-1" ? type : `${type} ${aggregateId}`))
    .join(", ")
}

describe("every state × every message", () => {
  for (const state of callStates) {
    for (const [name, message] of Object.entries(messages) as ReadonlyArray<[MessageName, CallMessage]>) {
      test(`${state} | ${name}`, () => {
        const before = recordIn(state)
        const decision = transition(before, message, terms())
        const effect = effects[`${state} | ${name}`]
        if (effect === undefined) {
          expect(decision.kind).toBe(conflicts(state, name) ? "conflict" : "ignored")
          return
        }
        if (decision.kind !== "changed") throw new Error(`the message was not taken: ${decision.kind}`)
        const { record, timeline } = decision.change
        const [after, lines, sent] = effect
        expect(record.call.state).toBe(after)
        expect(timeline.map((entry) => entry.state).at(-1) ?? state).toBe(after)
        expect(timeline).toHaveLength(lines)
        expect(sentBy(before, message)).toBe(sent)
        expect(record.call.version).toBe(before.call.version + Math.max(1, lines))
        expect(record.checkAt === undefined).toBe(finalStates.has(after))
        expect(record.updatedAt).toBe(lines === 0 ? before.updatedAt : now)
      })
    }
  }

  test("the table names only rows that exist", () => {
    const rows = callStates.flatMap((state) => Object.keys(messages).map((name) => `${state} | ${name}`))
    expect(Object.keys(effects).filter((row) => !rows.includes(row))).toEqual([])
  })
})

describe("a call that is due now", () => {
  test("goes from Submitted over Scheduled to Running in one transition, with one attempt", () => {
    const submitted = recordIn("Submitted", { dueAt: now })
    const decision = transition(submitted, { kind: "submit" }, terms())
    if (decision.kind !== "changed") throw new Error("not taken")
    const { record, timeline } = decision.change
    expect(timeline.map(({ state, version }) => [state, version])).toEqual([
      ["Scheduled", 2],
      ["Running", 3],
    ])
    expect(record.call).toMatchObject({ state: "Running", version: 3, runningAt: now })
    expect(sentBy(submitted, { kind: "submit" })).toBe(
      "StartExecution, ScheduleTimer call-1~w1, ServiceCallScheduled, ServiceCallRunning",
    )
    expect(transition(record, { kind: "submit" }, terms()).kind).toBe("ignored")
    expect(transition(record, { kind: "dueTimeReached", n: 1 }, terms()).kind).toBe("ignored")
  })
})

describe("a late outcome", () => {
  const lost = recordIn("Failed", { error: { kind: "outcomeUnknown", message: "lost" } })

  test("is noted once, and the state stays", () => {
    const message: CallMessage = { kind: "executionEnded", attemptId: "attempt-1", outcome: succeeded }
    const decision = transition(lost, message, terms())
    if (decision.kind !== "changed") throw new Error("not noted")
    expect(decision.change.record.call.state).toBe("Failed")
    expect(decision.change.timeline).toMatchObject([{ what: "LateOutcome", state: "Failed" }])
    expect(decision.change.messages).toEqual([])
    expect(transition(decision.change.record, message, terms()).kind).toBe("ignored")
  })

  test("that is also unknown is no news", () => {
    const outcome = {
      kind: "failed",
      finishedAt: now,
      error: { kind: "outcomeUnknown", message: "?" },
    } as const
    expect(transition(lost, { kind: "executionEnded", attemptId: "attempt-1", outcome }, terms()).kind).toBe(
      "ignored",
    )
  })
})

describe("the sweep", () => {
  test("looks at no call before its time", () => {
    for (const state of ["Submitted", "Scheduled", "Running"] as const) {
      const record = { ...recordIn(state), checkAt: now + 1 }
      expect(transition(record, { kind: "sweep" }, terms()).kind).toBe("ignored")
    }
  })

  test("starts a Scheduled call that is overdue by more than the grace, and counts it", () => {
    const overdue = recordIn("Scheduled", { dueAt: now - sweepGraceMs })
    expect(transition(overdue, { kind: "sweep" }, terms())).toMatchObject({
      kind: "changed",
      isRescue: true,
      change: { record: { call: { state: "Running" } }, timeline: [{ what: "Rescued" }] },
    })
  })

  test("gives up on an attempt that has waited for too long", () => {
    const stuck = recordIn("Running", { runningAt: now - longestWaitMs })
    expect(transition(stuck, { kind: "sweep" }, terms())).toMatchObject({
      change: { record: { call: { state: "Failed", error: { kind: "outcomeUnknown" } } } },
    })
  })
})

describe("commands to the Timer", () => {
  test("have increasing timestamps, also if the clock goes back", () => {
    const ahead = recordIn("Scheduled", { scheduledAtMs: now + 1_000 })
    const decision = transition(ahead, { kind: "reschedule", dueAt: now + 5_000 }, terms())
    if (decision.kind !== "changed") throw new Error("not taken")
    const stamps = decision.change.messages.flatMap(({ type, timestampMs }) =>
      type.endsWith("Timer") ? [timestampMs] : [],
    )
    expect(stamps).toEqual([now + 1_001, now + 1_002])
    expect(decision.change.record.call.scheduledAtMs).toBe(now + 1_002)
  })

  test("name the message that caused them", () => {
    const cause = { messageId: "message-1", causationId: "message-0" }
    const decision = transition(recordIn("Submitted"), { kind: "submit" }, { ...terms(), cause })
    if (decision.kind !== "changed") throw new Error("not taken")
    expect(decision.change.messages.map(({ causationId }) => causationId)).toEqual(["message-1", "message-1"])
    expect(decision.change.timeline).toMatchObject([cause])
  })
})
