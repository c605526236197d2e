// /timers/replay and /timers/discard as callers see them.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { NoOwner } from "../../src/engine/front/RefusedWrite.ts"
import type { Delivery } from "../../src/ports/Deliverer.ts"
import { StoreError } from "../../src/ports/TimerStore.ts"
import { eventually } from "../../testkit/eventually.ts"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const namespace = "billing"
const hook = "http://127.0.0.1:9/hook"

/** A target that refuses for good until the test changes that. */
const target = () => {
  const state = { isGone: true }
  const deliver = () =>
    Effect.sync(
      (): Delivery =>
        state.isGone
          ? { kind: "dead", reason: "refused", error: "gone", status: 410 }
          : { kind: "delivered", status: 200 },
    )
  return { state, deliver }
}

const countOf = async ({ call }: RunningService, state: string): Promise<number> =>
  succeeded("count", await call("count", { namespace, state })).count

const kill = async (running: RunningService, ids: ReadonlyArray<string>): Promise<void> => {
  for (const timerId of ids)
    await running.call("create", { namespace, timerId, delay: "0s", callbackUrl: hook, payload: [timerId] })
  await eventually("they are dead", async () =>
    (await countOf(running, "dead")) === ids.length ? true : undefined,
  )
}

describe("replay", () => {
  test("arms dead letters again, by id, filter or all, and a dry run counts them first", () => {
    const { state, deliver } = target()
    return withService({ deliver }, async (running) => {
      const { call } = running
      await kill(running, ["a-1", "a-2", "b-1", "b-2"])
      state.isGone = false
      const filter = { idPrefix: "a-" }
      for (const dryRun of [true, true, false]) {
        const answer = succeeded("replay", await call("replay", { namespace, filter, dryRun }))
        expect(answer).toEqual({ replayed: 2, skipped: 0 })
      }
      expect(succeeded("replay", await call("replay", { namespace, timerId: "b-1" })).replayed).toBe(1)
      expect(succeeded("replay", await call("replay", { namespace, all: true }))).toEqual({
        replayed: 1,
        skipped: 0,
      })
      await eventually("all are delivered", async () =>
        (await countOf(running, "delivered")) === 4 ? true : undefined,
      )
      expect(await countOf(running, "dead")).toBe(0)
      const { timer } = succeeded("get", await call("get", { namespace, timerId: "a-1" }))
      expect(timer).toMatchObject({ state: "delivered", attempts: 1 })
      expect(timer.attemptLog).toMatchObject([{ status: 200 }])
    })
  })

  test("of a timer without a dead letter is not found; a filter without a match does nothing", () => {
    const { deliver } = target()
    return withService({ deliver }, async (running) => {
      const { call } = running
      await call("create", { namespace, timerId: "pending", delay: "1h", callbackUrl: hook })
      for (const timerId of ["pending", "absent"]) {
        for (const name of ["replay", "discard"])
          expect(refused(await call(name, { namespace, timerId }), "timerNotFound").detail).toContain("dead")
      }
      expect(succeeded("replay", await call("replay", { namespace, all: true })).replayed).toBe(0)
      expect(succeeded("discard", await call("discard", { namespace, all: true })).discarded).toBe(0)
    })
  })

  test("skips timers that are pending again", () => {
    const { state, deliver } = target()
    return withService({ deliver }, async (running) => {
      const { call } = running
      await kill(running, ["a", "b"])
      state.isGone = false
      await call("create", { namespace, timerId: "a", delay: "1h", callbackUrl: hook })
      expect(succeeded("replay", await call("replay", { namespace, timerId: "a" }))).toEqual({
        replayed: 0,
        skipped: 1,
      })
      expect(succeeded("replay", await call("replay", { namespace, all: true }))).toEqual({
        replayed: 1,
        skipped: 1,
      })
      expect(await countOf(running, "dead")).toBe(1)
    })
  })
})

describe("discard", () => {
  test("removes dead letters for good, and a dry run counts them first", () => {
    const { deliver } = target()
    return withService({ deliver }, async (running) => {
      const { call } = running
      await kill(running, ["a-1", "a-2", "b"])
      const asked = { namespace, filter: { idPrefix: "a-" } }
      for (const dryRun of [true, false])
        expect(succeeded("discard", await call("discard", { ...asked, dryRun }))).toEqual({ discarded: 2 })
      refused(await call("get", { namespace, timerId: "a-1" }), "timerNotFound")
      expect(succeeded("discard", await call("discard", { namespace, timerId: "b" })).discarded).toBe(1)
      expect(await countOf(running, "dead")).toBe(0)
    })
  })
})

test("both say when there is more, and what may have been done when they are refused", async () => {
  const scheduler = {
    replay: () => Effect.succeed({ replayed: 1_000, skipped: 3, more: true }),
    discard: () => Effect.succeed({ discarded: 1_000, more: true }),
  }
  await withService({ scheduler }, async ({ call }) => {
    expect(succeeded("replay", await call("replay", { namespace, all: true }))).toEqual({
      replayed: 1_000,
      skipped: 3,
      more: true,
    })
    expect(succeeded("discard", await call("discard", { namespace, all: true }))).toEqual({
      discarded: 1_000,
      more: true,
    })
  })
  const away = () => Effect.fail(new NoOwner({ message: "the owner is away", retryAfterMs: 1_000 }))
  await withService({ scheduler: { replay: away, discard: away } }, async ({ call }) => {
    for (const [name, deed] of [
      ["replay", "replayed"],
      ["discard", "discarded"],
    ] as const) {
      const { detail, written } = refused(await call(name, { namespace, all: true }), "ownerUnavailable")
      expect(detail).toContain(`may have been ${deed}`)
      expect(written).toBe("unknown")
    }
  })
  const failing = () => Effect.fail(new StoreError({ message: "away", isFatal: false }))
  await withService({ scheduler: { replay: failing, discard: failing } }, async ({ call }) => {
    for (const name of ["replay", "discard"] as const) {
      const asked = { namespace, all: true }
      expect(refused(await call(name, asked), "overloaded").written).toBe("unknown")
      expect(refused(await call(name, { ...asked, dryRun: true }), "overloaded").written).toBe("no")
    }
  })
})

test("both need exactly one selection, and it must select something", () =>
  withService({}, async ({ call }) => {
    for (const name of ["replay", "discard"]) {
      const wrong: ReadonlyArray<readonly [object, string]> = [
        [{}, "/timerId"],
        [{ timerId: "a", all: true }, "/all"],
        [{ filter: {} }, "/filter"],
        [{ all: false }, "/all"],
        [{ all: true, dryRun: "yes" }, "/dryRun"],
        [{ all: true, state: "dead" }, "/state"],
      ]
      for (const [body, pointer] of wrong) {
        const problem = refused(await call(name, { namespace, ...body }), "invalidRequest")
        expect([name, pointersOf(problem)]).toEqual([name, [pointer]])
      }
    }
  }))
