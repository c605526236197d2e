import { describe, expect, test } from "bun:test"
import { decodeServiceCallChanged } from "@punctual/api/agent/ServiceCallChanged"
import { decodeStartExecution } from "@punctual/api/agent/StartExecution"
import { decodeSubmitServiceCall } from "@punctual/api/agent/SubmitServiceCall"
import { decodeCancelTimer } from "@punctual/api/CancelTimer"
import { decodeScheduleTimer } from "@punctual/api/ScheduleTimer"
import { Result } from "effect"
import { timerNameOf } from "../../src/domain/CallRecord.ts"
import {
  whyNotCallId,
  whyNotDueAt,
  whyNotName,
  whyNotRequest,
  whyNotTags,
} from "../../src/domain/callRules.ts"
import { type AskedCall, callIdOfKey, newCall, requestHashOf } from "../../src/domain/newCall.ts"
import { redactCall, redactedHeaders, redactedText, redactRequest } from "../../src/domain/redaction.ts"
import { transition } from "../../src/domain/transition.ts"
import { callIn, now, recordIn, terms } from "../../testkit/sampleCalls.ts"

const asked: AskedCall = {
  tenantId: "acme",
  name: "Remind",
  request: {
    method: "POST",
    url: "https://example.com/a?token=secret",
    headers: { A: "1", B: "2" },
    body: "x",
  },
  tags: [],
}
const ids = { serviceCallId: "call-1", correlationId: "order-1" }

describe("a new call", () => {
  test("is Submitted, is due now if no time was given, and shows no query", () => {
    const { record, timeline, messages } = newCall(asked, ids, terms())
    expect(record.call).toMatchObject({ state: "Submitted", version: 1, dueAt: now, host: "example.com" })
    expect(record.call.shownUrl).toBe("https://example.com/a")
    expect(timeline).toMatchObject([{ what: "Submitted", version: 1 }])
    expect(messages.map(({ type }) => type)).toEqual(["SubmitServiceCall", "ServiceCallSubmitted"])
    expect(JSON.stringify(messages)).not.toContain("secret")
  })

  test("has the same hash for the same request, whatever the order of its headers, and another one otherwise", () => {
    const hash = requestHashOf(asked)
    const sorted = { ...asked, request: { ...asked.request, headers: { B: "2", A: "1" } } }
    expect(requestHashOf(sorted)).toBe(hash)
    const others: ReadonlyArray<AskedCall> = [
      { ...asked, name: "Other" },
      { ...asked, dueAt: now },
      { ...asked, tags: ["a"] },
      { ...asked, request: { ...asked.request, body: "y" } },
      { ...asked, request: { ...asked.request, headers: { A: "1" } } },
    ]
    for (const other of others) expect(requestHashOf(other)).not.toBe(hash)
  })

  test("gets its id from the tenant and the idempotency key", () => {
    expect(callIdOfKey("acme", "k")).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    )
    expect(callIdOfKey("acme", "k")).toBe(callIdOfKey("acme", "k"))
    expect(callIdOfKey("acme", "k")).not.toBe(callIdOfKey("other", "k"))
    expect(callIdOfKey("a", "b")).not.toBe(callIdOfKey("ab", ""))
  })
})

test("every message that the agent makes has the form of its contract", () => {
  const decoders: Readonly<Record<string, (payload: unknown) => Result.Result<unknown, string>>> = {
    SubmitServiceCall: decodeSubmitServiceCall,
    StartExecution: decodeStartExecution,
    ScheduleTimer: (payload) => decodeScheduleTimer(payload),
    CancelTimer: decodeCancelTimer,
  }
  const decisions = [
    transition(recordIn("Submitted"), { kind: "submit" }, terms()),
    transition(recordIn("Scheduled"), { kind: "dueTimeReached", n: 1 }, terms()),
    transition(recordIn("Scheduled"), { kind: "cancel" }, terms()),
    transition(
      recordIn("Running"),
      {
        kind: "executionEnded",
        attemptId: "attempt-1",
        outcome: {
          kind: "failed",
          finishedAt: now,
          error: { kind: "network", message: "reset", latencyMs: 2 },
        },
      },
      terms(),
    ),
  ]
  const made = [
    ...newCall(asked, ids, terms()).messages,
    ...decisions.flatMap((decision) => (decision.kind === "changed" ? decision.change.messages : [])),
  ]
  expect(new Set(made.map(({ type }) => type)).size).toBe(9)
  for (const { type, payloadJson } of made) {
    const decoded = (decoders[type] ?? decodeServiceCallChanged)(JSON.parse(payloadJson))
    expect([type, Result.isSuccess(decoded) ? "valid" : decoded.failure]).toEqual([type, "valid"])
  }
})

test("the id of a timer names the call, what the timer is for, and n; other timers are not the agent's", () => {
  expect(timerNameOf("call-1~d2")).toEqual({ serviceCallId: "call-1", kind: "due", n: 2 })
  expect(timerNameOf("call-1~w10")).toEqual({ serviceCallId: "call-1", kind: "watchdog", n: 10 })
  for (const id of ["call-1", "call-1~x1", "call-1~d", "~d1", "a~d1~d2", "call-1~d-1"]) {
    expect(timerNameOf(id)).toBeUndefined()
  }
})

describe("the rules of a call", () => {
  const request = { method: "GET", url: "https://example.com/" }

  test("accept an ordinary request", () => {
    expect(whyNotRequest(asked.request)).toBeUndefined()
    expect([whyNotName("Größe ✓"), whyNotTags(["a", "b"]), whyNotDueAt(0, now), whyNotCallId("x")]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  test("say what is wrong with others", () => {
    const refused: ReadonlyArray<readonly [string | undefined, string]> = [
      [whyNotRequest({ ...request, method: "FETCH" }), "method"],
      [whyNotRequest({ ...request, method: "get" }), "method"],
      [whyNotRequest({ ...request, body: "x" }), "no body"],
      [whyNotRequest({ ...request, url: "/relative" }), "absolute"],
      [whyNotRequest({ ...request, url: "file:///etc/passwd" }), "http"],
      [whyNotRequest({ ...request, url: "https://user:pass@example.com/" }), "password"],
      [whyNotRequest({ ...request, headers: { Host: "other" } }), "itself"],
      [whyNotRequest({ ...request, headers: { A: "1\r\nB: 2" } }), "ASCII"],
      [whyNotRequest({ ...request, headers: { "A B": "1" } }), "name of a header"],
      [whyNotRequest({ ...request, headers: { a: "1", A: "2" } }), "twice"],
      [whyNotRequest({ ...request, method: "POST", body: "é".repeat(600_000) }), "bytes"],
      [whyNotName("a\u0000b"), "control"],
      [whyNotName("é".repeat(101)), "bytes"],
      [whyNotTags(["a", "a"]), "twice"],
      [whyNotTags([""]), "tag"],
      [whyNotTags(Array.from({ length: 11 }, (_, at) => String(at))), "10"],
      [whyNotDueAt(1.5, now), "instant"],
      [whyNotDueAt(now + 4_000 * 86_400_000, now), "days"],
      [whyNotCallId("a~d1"), "~"],
      [whyNotCallId("é".repeat(121)), "240"],
      [whyNotCallId(""), "1 to 240"],
    ]
    for (const [why, part] of refused) expect(why).toContain(part)
  })
})

describe("redaction", () => {
  test("hides the values of secret headers, in any case, and of the tenant's own", () => {
    const hidden = redactedHeaders(["X-Our-Token"])
    const headers = { AUTHORIZATION: "a", Cookie: "b", "x-api-key": "c", "x-our-token": "d", Accept: "e" }
    expect(redactRequest({ method: "GET", url: "https://a/", headers }, hidden).headers).toEqual({
      AUTHORIZATION: redactedText,
      Cookie: redactedText,
      "x-api-key": redactedText,
      "x-our-token": redactedText,
      Accept: "e",
    })
  })

  test("covers the answer of a failure too", () => {
    const response = { status: 500, headers: { "set-cookie": "s" }, bodySnippet: "", latencyMs: 1 }
    const failed = callIn("Failed", { error: { kind: "status", message: "500", response } })
    expect(redactCall(failed, redactedHeaders()).error?.response?.headers).toEqual({
      "set-cookie": redactedText,
    })
  })
})
