// A program sees the same timer that HTTP shows, with Dates for instants. The test compares both.
import { expect, test } from "bun:test"
import { completeRetryPolicy } from "@punctual/api/RetryPolicy"
import { TimerSchema } from "@punctual/api/Timer"
import { Schema } from "effect"
import type { Attempt, Spec } from "../../src/domain/Timer.ts"
import type { TimerView } from "../../src/engine/front/Scheduler.ts"
import { timerJson } from "../../src/http/TimerJson.ts"
import type { PayloadForm } from "../../src/inprocess/PayloadForm.ts"
import { parsePayloadForm } from "../../src/inprocess/PayloadForm.ts"
import { shownTimer } from "../../src/inprocess/shownTimer.ts"
import { sampleNow, sampleSpec, sampleTimer } from "../../testkit/timers.ts"

const attempts: ReadonlyArray<Attempt> = [
  { at: sampleNow, durationMs: 7, status: 503, answer: "busy" },
  { at: sampleNow + 1, durationMs: 8, error: "reset" },
]

const fullSpec: Spec = {
  target: {
    type: "webhook",
    url: "https://h/",
    method: "PUT",
    headers: { at: "noon" },
    timeoutMs: 1_500,
    body: "payload",
  },
  retryPolicy: { ...sampleSpec.retryPolicy, maxDurationMs: 86_400_000 },
  expireAfterMs: 5_400_000,
}

const newTerms: Spec = {
  ...fullSpec,
  retryPolicy: completeRetryPolicy({ waits: [60_000, 3_600_000], maxDuration: 86_400_000 }),
  onExpire: "drop",
  onDead: {
    type: "webhook",
    url: "https://h/",
    method: "POST",
    headers: { at: "x" },
    timeoutMs: 5,
    body: "envelope",
  },
}

const payload = new TextEncoder().encode('{"at":"2030-01-01T00:00:00Z"}')
const plain = sampleTimer()
const full = {
  ...sampleTimer({ tags: ["trial", "größer"] }),
  spec: fullSpec,
  payload,
  attempts: 2,
  attemptLog: attempts,
}
const { fireAt: _, updatedAt: __, ...life } = full

const views: ReadonlyArray<TimerView> = [
  { state: "pending", timer: plain },
  { state: "inFlight", timer: full, startedAt: sampleNow + 5 },
  {
    state: "pending",
    timer: full,
    waiting: { reason: "sealed", sinceMs: sampleNow + 6, detail: 'No "key".' },
  },
  { state: "pending", timer: { ...full, spec: { ...fullSpec, target: { type: "handler" } } } },
  { state: "pending", timer: { ...full, traceparent: "00-a-b-01", spec: newTerms } },
  { state: "pending", timer: { ...full, spec: { ...newTerms, onDead: { type: "event" } } } },
  { state: "delivered", life: { ...life, state: "delivered", finishedAt: sampleNow + 9, latenessMs: 3 } },
  { state: "dead", life: { ...life, state: "dead", finishedAt: sampleNow + 9, reason: "expired" } },
]

const formOf = (name: string): PayloadForm => {
  const parsed = parsePayloadForm(name)
  if ("problem" in parsed) throw new Error(parsed.problem)
  return parsed.value
}

test("the timer that a program sees, written as JSON, equals the answer over HTTP", () => {
  for (const view of views) {
    for (const withPayload of [true, false]) {
      const shown = shownTimer(view, withPayload ? formOf("value") : undefined)
      const json = timerJson(view, withPayload)
      expect(JSON.parse(JSON.stringify(shown))).toEqual(JSON.parse(json))
      Schema.decodeUnknownSync(TimerSchema)(JSON.parse(json))
    }
  }
})

test("every instant is a Date", () => {
  const shown = views.map((view) => shownTimer(view, undefined))
  const delivered = shown.find(({ state }) => state === "delivered")
  expect(delivered).toMatchObject({
    executeAt: new Date(full.executeAt),
    createdAt: new Date(full.createdAt),
    updatedAt: new Date(sampleNow + 9),
    finishedAt: new Date(sampleNow + 9),
    lastAttempt: { at: new Date(sampleNow + 1) },
    attemptLog: [{ at: new Date(sampleNow) }, { at: new Date(sampleNow + 1) }],
  })
  expect(shown[1]?.attemptStartedAt).toEqual(new Date(sampleNow + 5))
  expect(shown[2]?.waiting?.since).toEqual(new Date(sampleNow + 6))
})

test("a payload is a value or its text, as the program asks", () => {
  const view: TimerView = { state: "pending", timer: full }
  expect(shownTimer(view, formOf("value")).payload).toEqual({ at: "2030-01-01T00:00:00Z" })
  expect(shownTimer(view, formOf("text")).payload).toBe('{"at":"2030-01-01T00:00:00Z"}')
  expect(shownTimer(view, undefined)).not.toHaveProperty("payload")
})
