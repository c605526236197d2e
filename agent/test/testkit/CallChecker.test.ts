// The checker itself: it accepts a good run, and notices each broken promise.
import { expect, test } from "bun:test"
import type { CallState, ServiceCall } from "../../src/domain/ServiceCall.ts"
import { brokenPromises, type CallRun, type EndedCall, type SeenRequest } from "../../testkit/CallChecker.ts"
import { callIn } from "../../testkit/sampleCalls.ts"

const dueAt = 1_000
const asked = { tenantId: "acme", serviceCallId: "call-1", dueAt }
const request: SeenRequest = { ...asked, attemptId: "attempt-1", at: dueAt }

const ended = (
  states: ReadonlyArray<CallState> = ["Submitted", "Scheduled", "Running", "Succeeded"],
  changes: Partial<ServiceCall> = {},
): EndedCall => ({
  call: callIn(states.at(-1) ?? "Submitted", changes),
  timeline: states.map((state, at) => ({ version: at + 1, what: "Sample", state })),
})

const problemsOf = (changes: Partial<CallRun>) =>
  brokenPromises({ submitted: [asked], ended: new Map([["acme", [ended()]]]), seen: [request], ...changes })

const inAcme = (...calls: ReadonlyArray<EndedCall>) => new Map([["acme", calls]])

test("a run that kept its promises has no problems", () => {
  expect(problemsOf({})).toEqual([])
  expect(problemsOf({ ended: inAcme(ended(["Submitted", "Cancelled"])), seen: [] })).toEqual([])
  const unknown = { kind: "outcomeUnknown", message: "killed" } as const
  expect(problemsOf({ ended: inAcme(ended(["Running", "Failed"], { error: unknown })), seen: [] })).toEqual(
    [],
  )
})

const broken: ReadonlyArray<readonly [string, Partial<CallRun>]> = [
  ["acme/call-1 is lost", { ended: new Map(), seen: [] }],
  ["acme/call-1 did not end: it is Running", { ended: inAcme(ended(["Submitted", "Running"])) }],
  [
    "acme/call-1 ended 2 times",
    { ended: inAcme(ended(["Running", "Failed", "Failed"], { error: { kind: "timeout", message: "" } })) },
  ],
  ["acme/call-1 is listed twice", { ended: inAcme(ended(), ended()) }],
  ["the target of acme/call-1 saw 2 requests", { seen: [request, request] }],
  ["acme/call-1 has an answer without a request", { seen: [] }],
  [
    "acme/call-1 was cancelled and called",
    { ended: inAcme(ended(["Submitted", "Cancelled"], { attemptId: "attempt-1" })) },
  ],
  ["acme/call-1 was called by another attempt", { seen: [{ ...request, attemptId: "attempt-2" }] }],
  ["acme/call-1 was called 1 ms before its due time", { seen: [{ ...request, at: dueAt - 1 }] }],
  ["other sees a call of acme", { ended: new Map([["other", [ended()]]]) }],
  ["other/call-1 was never submitted", { seen: [request, { ...request, tenantId: "other" }] }],
]

for (const [problem, changes] of broken) {
  test(`the checker says: ${problem}`, () => {
    expect(problemsOf(changes)).toEqual([`broken promise: ${problem}`])
  })
}
