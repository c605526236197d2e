// The classes of failed attempts, by the texts that deliverers really write.
import { expect, test } from "bun:test"
import { errorClassOf } from "../../src/domain/errorClassOf.ts"

const made = { at: 0, durationMs: 1 }

test("a status has its class, whatever the text says", () => {
  for (const [status, expected] of [
    [200, undefined],
    [302, undefined],
    [399, undefined],
    [400, "4xx"],
    [499, "4xx"],
    [500, "5xx"],
    [599, "5xx"],
    [600, undefined],
  ] as const)
    expect(errorClassOf({ ...made, status, error: "connection refused: a" })).toBe(expected)
})

// These texts are in stores: a change of the words must go on to know them.
test("texts of time-outs and network errors have theirs", () => {
  for (const [error, expected] of [
    ["no whole answer from 127.0.0.1:80 within 50ms", "timeout"],
    ["the handler took longer than 15s", "timeout"],
    ["connection refused: 127.0.0.1:80", "network"],
    ["connection closed before a whole answer: a:80", "network"],
    ["host not found: nowhere.example:443", "network"],
    ["network error EPIPE: a:80", "network"],
    ["the handler failed: connection refused", undefined],
    ["TIMER_EGRESS does not allow 127.0.0.1 (a)", undefined],
  ] as const)
    expect(errorClassOf({ ...made, error })).toBe(expected)
  expect(errorClassOf(made)).toBeUndefined()
})
