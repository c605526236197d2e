// What a caller is told about a refused call, and whether the call may have been written.
import { describe, expect, test } from "bun:test"
import { actions } from "@punctual/api/CallTerms"
import { Effect, References } from "effect"
import { problemOf, refuseChange, unanswered } from "../../src/calls/problemOf.ts"
import { NoOwner, TimerUnreadable, TooManyWrites } from "../../src/engine/front/RefusedWrite.ts"
import { SettingsContended, TooManySettings } from "../../src/engine/namespaces/NamespaceDirectory.ts"
import { QuotaUsedUp } from "../../src/engine/namespaces/Quotas.ts"
import { StoreError } from "../../src/ports/TimerStore.ts"

const told = (mayBeDone?: boolean) =>
  problemOf(
    new NoOwner({
      message: "no owner is in reach",
      retryAfterMs: 1_200,
      ...(mayBeDone === undefined ? {} : { mayBeDone }),
    }),
  )

describe("a write without an owner", () => {
  test("is refused with a time to retry, and says that nothing was written only if that is certain", () => {
    for (const sure of [told(), told(false)]) {
      expect(sure).toMatchObject({
        status: 503,
        code: "ownerUnavailable",
        retryAfterSeconds: 2,
        written: "no",
      })
      expect(sure.detail).toBe(
        "No owner is in reach. Nothing was written: wait for the retry-after time, then retry.",
      )
    }
    expect(told(true)).toMatchObject({ status: 503, code: "ownerUnavailable", written: "unknown" })
    expect(told(true).detail).not.toContain("Nothing")
    expect(told(true).detail).toContain("unknown")
  })
})

describe("written", () => {
  test("says no for a write that never reached the store", () => {
    expect(problemOf(new TooManyWrites({ retryAfterMs: 1 }))).toMatchObject({ written: "no" })
    const quota = new QuotaUsedUp({ quota: "maxPending", limit: 1, retryAfterMs: 1 })
    expect(problemOf(quota)).toMatchObject({ status: 429, written: "no" })
  })

  test("says unknown where the store failed, unless the call only read", () => {
    const error = new StoreError({ message: "away", isFatal: false })
    expect(problemOf(error)).toMatchObject({ status: 503, written: "unknown" })
    expect(problemOf(error, "no")).toMatchObject({ status: 503, written: "no" })
  })

  test("says unknown for a change of settings if the store failed, and no if another change was faster", () => {
    const told = (error: StoreError | SettingsContended | TooManySettings) =>
      Effect.runSync(
        Effect.flip(refuseChange(error)).pipe(Effect.provideService(References.MinimumLogLevel, "None")),
      )
    expect(told(new StoreError({ message: "away", isFatal: false }))).toMatchObject({ written: "unknown" })
    expect(told(new SettingsContended({ namespace: "n" }))).toMatchObject({ status: 503, written: "no" })
    expect(told(new TooManySettings({ limit: 7 }))).toMatchObject({
      status: 400,
      errors: [{ pointer: "/namespace", detail: expect.stringContaining("TIMER_MAX_NAMESPACES") }],
    })
  })

  test("says unknown where the time ran out, unless the call only reads", () => {
    const told = actions.map((action) => [action, unanswered(action)] as const)
    expect(told.filter(([, problem]) => "written" in problem && problem.written === "no")).toEqual(
      told.filter(([action]) => action.endsWith(".read")),
    )
    expect(told.length).toBeGreaterThan(0)
  })
})

test("a timer that cannot be read is not the caller's mistake, and the caller is told the reason", () => {
  const reason = "What is stored under this key cannot be read."
  expect(problemOf(new TimerUnreadable({ reason }))).toMatchObject({
    status: 500,
    code: "internal",
    detail: reason,
  })
})
