// The quota of open calls: exact for one process, and with few counts.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { OpenCallQuota } from "../../src/calls/OpenCallQuota.ts"

const rig = (callsMax: number) => {
  const open = new Map<string, number>()
  let counts = 0
  const quota = new OpenCallQuota({
    callsMax,
    count: (tenantId, limit) =>
      Effect.sync(() => {
        counts++
        return Math.min(open.get(tenantId) ?? 0, limit)
      }),
  })
  /** Submits calls, and returns how many were admitted. */
  const submit = (tenantId: string, times: number) =>
    Effect.gen(function* () {
      const admitted = yield* Effect.forEach(Array.from({ length: times }), () => quota.admit(tenantId), {
        concurrency: "unbounded",
      })
      const isAdmitted = admitted.filter((each) => each).length
      open.set(tenantId, (open.get(tenantId) ?? 0) + isAdmitted)
      return isAdmitted
    })
  return { submit, open, counts: () => counts }
}

const timed = (body: () => Effect.Effect<void, unknown>) =>
  Effect.runPromise(Effect.suspend(body).pipe(Effect.scoped, Effect.provide(TestClock.layer())))

test("many submissions at once need one count, and exactly the quota is admitted", () =>
  timed(() =>
    Effect.gen(function* () {
      const { submit, counts } = rig(10)
      expect(yield* submit("a", 25)).toBe(10)
      expect(counts()).toBe(1)
      expect(yield* submit("b", 3)).toBe(3)
      expect(counts()).toBe(2)
    }),
  ))

test("a tenant at its quota is counted at most once a second, and admitted when calls have ended", () =>
  timed(() =>
    Effect.gen(function* () {
      const { submit, open, counts } = rig(2)
      expect(yield* submit("a", 5)).toBe(2)
      open.set("a", 1)
      expect(yield* submit("a", 5)).toBe(0)
      expect(counts()).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(yield* submit("a", 5)).toBe(1)
      expect(counts()).toBe(2)
    }),
  ))

test("calls that others submit count after 10 seconds", () =>
  timed(() =>
    Effect.gen(function* () {
      const { submit, open } = rig(10)
      expect(yield* submit("a", 1)).toBe(1)
      open.set("a", 10)
      yield* TestClock.adjust("10 seconds")
      expect(yield* submit("a", 1)).toBe(0)
    }),
  ))
