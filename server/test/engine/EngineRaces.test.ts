// The races that would lose, repeat or resurrect timers. Each test makes a race by holding one reply of the store. Each
// test fails if its safeguard is removed from the engine.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import { keyOfItem } from "../../src/domain/WriteItem.ts"
import type { ShardBatch } from "../../src/ports/TimerStore.ts"
import { applyTo } from "../../testkit/applyTo.ts"
import { delivered, type EngineHarness, engineTest, refused } from "../../testkit/EngineHarness.ts"
import { at } from "../../testkit/StoreFixture.ts"
import { changeOf, putOf, sampleTimer } from "../../testkit/timers.ts"

/** The window reaches 60 s ahead and reads again when only 30 s are left. The next read comes after this time. */
const untilNextLoadMs = 31_000

/** The rows of the next load are read, but the reply is held. */
const holdNextLoad = Effect.fnUntraced(function* (engine: EngineHarness) {
  const load = engine.faults.holdReply("due")
  yield* engine.advance(untilNextLoadMs)
  yield* load.reached
  return load
})

const isCancel = (batches: ReadonlyArray<{ readonly items: ReadonlyArray<{ readonly kind: string }> }>) =>
  batches.some(({ items }) => items.some(({ kind }) => kind === "cancel"))

const isPut = (batches: ReadonlyArray<{ readonly items: ReadonlyArray<{ readonly kind: string }> }>) =>
  batches.some(({ items }) => items.some(({ kind }) => kind === "put"))

const isOutcome = (batches: ReadonlyArray<{ readonly items: ReadonlyArray<{ readonly kind: string }> }>) =>
  batches.some(({ items }) => items.some(({ kind }) => kind === "outcome"))

describe("a write during a read", () => {
  engineTest("a timer created while a load runs fires on time, not at the next sweep", {}, (engine) =>
    Effect.gen(function* () {
      const dueAt = engine.now() + 70_000
      const load = yield* holdNextLoad(engine)
      yield* engine.create({ timerId: "late", executeAt: dueAt })
      yield* load.release
      yield* engine.advance(60_000)
      expect(engine.fires.map((fire) => fire.at)).toEqual([dueAt])
      expect(yield* engine.rescued).toBe(0)
    }),
  )

  engineTest(
    "a timer created and then moved nearer while a load runs fires once, at its last time",
    {},
    (engine) =>
      Effect.gen(function* () {
        const start = engine.now()
        const load = yield* holdNextLoad(engine)
        yield* engine.create({ timerId: "moved", executeAt: start + 70_000 })
        const moved = yield* engine.create({ timerId: "moved", executeAt: start + 50_000 })
        expect(moved.result).toBe("replaced")
        yield* load.release
        yield* engine.advance(60_000)
        expect(engine.fires.map((fire) => fire.at)).toEqual([start + 50_000])
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest("a timer cancelled while a load that saw it runs does not fire", {}, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "gone", inMs: 70_000 })
      const load = yield* holdNextLoad(engine)
      expect(yield* engine.cancel("gone")).toEqual({ result: "cancelled" })
      yield* load.release
      yield* engine.advance(60_000)
      expect(engine.fires).toEqual([])
    }),
  )

  engineTest(
    "the record of an earlier attempt does not affect the arming that a load has seen",
    {},
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        const dueAt = engine.now() + 70_000
        yield* engine.create({ timerId: "a" })
        yield* engine.still
        yield* engine.create({ timerId: "a", executeAt: dueAt })
        const load = yield* holdNextLoad(engine)
        yield* hanging.end("a")
        expect(engine.stored("a").last?.state).toBe("delivered")
        yield* load.release
        yield* engine.advance(60_000)
        expect(engine.fires.slice(1).map((fire) => fire.at)).toEqual([dueAt])
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest("an outcome of a replaced arming does not affect the one that a load has seen", {}, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      const dueAt = engine.now() + 70_000
      yield* engine.create({ timerId: "a" })
      yield* engine.still
      const replacing = engine.faults.holdCall("write", { when: isPut })
      yield* Effect.forkChild(engine.create({ timerId: "a", executeAt: dueAt }))
      yield* replacing.reached
      yield* hanging.end("a")
      const settling = engine.faults.holdCall("write", { when: isOutcome })
      yield* replacing.release
      const load = yield* holdNextLoad(engine)
      yield* settling.release
      yield* engine.still
      yield* load.release
      yield* engine.advance(60_000)
      expect(engine.fires.slice(1).map((fire) => fire.at)).toEqual([dueAt])
      expect(yield* engine.rescued).toBe(0)
    }),
  )

  engineTest("an outcome and a later write of its key never share a commit", { shards: 1 }, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* engine.create({ timerId: "a" })
      yield* engine.still
      const commits: Array<ReadonlyArray<string>> = []
      const note = (batches: ReadonlyArray<ShardBatch>) => {
        commits.push(batches.flatMap(({ items }) => items.map((item) => keyOfItem(item).timerId)))
        return false
      }
      engine.faults.holdCall("write", { times: Number.POSITIVE_INFINITY, when: note })
      const busy = engine.faults.holdCall("write", { when: isPut })
      yield* Effect.forkChild(engine.create({ timerId: "b", inMs: 70_000 }))
      yield* busy.reached
      yield* hanging.end("a")
      const replacing = yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 70_000 }))
      yield* engine.still
      yield* busy.release
      yield* Fiber.join(replacing)
      expect(commits).toEqual([["b"], ["a"], ["a"]])
    }),
  )

  engineTest(
    "a due timer that waits for its turn can still be cancelled",
    { dispatch: { inFlight: 2 } },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        yield* engine.create({ timerId: "first" })
        yield* engine.create({ timerId: "second", inMs: 1 })
        yield* engine.advance(10)
        expect(engine.fires.map((fire) => fire.timerId)).toEqual(["first"])
        const commit = engine.faults.holdCall("write", { when: isCancel })
        const cancel = yield* Effect.forkChild(engine.cancel("second"))
        yield* commit.reached
        yield* hanging.end("first")
        yield* engine.advance(2_000)
        yield* commit.release
        expect(yield* Fiber.join(cancel)).toEqual({ result: "cancelled" })
        yield* engine.advance(2_000)
        expect(engine.fires.map((fire) => fire.timerId)).toEqual(["first"])
      }),
  )

  engineTest("a timer whose queued change is refused fires when the refusal is answered", {}, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "a", inMs: 1_000 })
      const commit = engine.faults.holdCall("write", { when: isCancel })
      const cancel = yield* Effect.forkChild(engine.node.scheduler.cancel("shop", "a", 1))
      yield* engine.advance(1_500)
      expect(engine.fires).toEqual([])
      const answeredAt = engine.now()
      yield* commit.release
      expect((yield* Fiber.join(cancel)).result).toBe("revisionMismatch")
      yield* engine.still
      expect(engine.fires.map((fire) => fire.at)).toEqual([answeredAt])
    }),
  )
})

describe("a create queued while its key comes due", () => {
  engineTest("holds the timer back if it may move it", {}, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "a", inMs: 1_000 })
      const commit = engine.faults.holdReply("write", { when: isPut })
      const moving = yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 60_000 }))
      yield* engine.advance(2_000)
      yield* commit.release
      expect((yield* Fiber.join(moving)).result).toBe("replaced")
      yield* engine.advance(5_000)
      expect(engine.fires).toEqual([])
    }),
  )

  engineTest("does not hold it back if it repeats the create or keeps the timer", {}, (engine) =>
    Effect.gen(function* () {
      const executeAt = engine.now() + 1_000
      yield* engine.create({ timerId: "a", executeAt })
      for (const onExisting of ["replace", "keep", "fail"] as const) {
        engine.faults.holdReply("write", { when: isPut })
        yield* Effect.forkChild(engine.create({ timerId: "a", executeAt, onExisting }))
      }
      yield* engine.advance(1_000)
      expect(engine.fires.map((fire) => fire.at)).toEqual([executeAt])
    }),
  )
})

describe("a key that changes while its attempt runs", () => {
  engineTest("the outcome goes to history and does not affect the new arming", {}, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      const first = yield* engine.create({ timerId: "a" })
      yield* engine.still
      const second = yield* engine.create({ timerId: "a", inMs: 10_000 })
      expect([first.result, second.result]).toEqual(["created", "replaced"])
      const armed = engine.stored("a").pending
      yield* hanging.end("a")
      expect(engine.stored("a").pending).toEqual(armed)
      expect(engine.stored("a").last).toMatchObject({ state: "delivered", attempts: 1 })
      expect(engine.stored("a").last?.fireId).toBe(engine.fires[0]?.fireId)
      yield* engine.advance(10_000)
      expect(engine.fires.map(({ fireId, attempt }) => [fireId, attempt])).toEqual([
        [engine.fires[0]?.fireId ?? "", 1],
        [armed?.fireId ?? "", 1],
      ])
      expect(engine.fires[1]?.fireId).not.toBe(engine.fires[0]?.fireId)
    }),
  )

  engineTest("an outcome queued behind the replacement goes to history as well", {}, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* engine.create({ timerId: "a" })
      yield* engine.still
      const commit = engine.faults.holdCall("write")
      const replacing = yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 10_000 }))
      yield* commit.reached
      yield* hanging.end("a", refused)
      yield* commit.release
      expect((yield* Fiber.join(replacing)).result).toBe("replaced")
      yield* engine.still
      expect(engine.stored("a").pending).toMatchObject({ attempts: 0, fireAt: engine.now() + 10_000 })
      expect(engine.stored("a").last).toMatchObject({ fireId: engine.fires[0]?.fireId, attempts: 1 })
      yield* hanging.endAll()
      yield* engine.advance(60_000)
      expect(engine.fires.length).toBe(2)
    }),
  )

  engineTest(
    "an outcome that finds its row changed makes the engine read the key again",
    { pollingIntervalMs: 600_000 },
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang()
        yield* engine.create({ timerId: "a" })
        yield* engine.still
        const dueAt = engine.now() + 2_000
        const pending = engine.stored("a").pending
        if (pending === undefined) throw new Error("it is in flight, so it is pending")
        applyTo(engine.database, 0, changeOf(pending, { executeAt: dueAt }))
        yield* hanging.end("a")
        yield* hanging.endAll()
        yield* engine.advance(2_000)
        expect(engine.fires.map((fire) => fire.at)).toEqual([dueAt - 2_000, dueAt])
        yield* engine.still
        expect(engine.stored("a").pending).toBeUndefined()
        expect(yield* engine.rescued).toBe(0)
      }),
  )
})

describe("a commit that succeeded and was reported as failed", () => {
  engineTest("a create is answered as created, and fires once", {}, (engine) =>
    Effect.gen(function* () {
      engine.faults.failReply("write", { times: 3 })
      const creating = yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 1_000 }))
      yield* engine.advance(500)
      const answer = yield* Fiber.join(creating)
      expect(answer.result).toBe("created")
      yield* engine.advance(60_000)
      expect(engine.fires.map(({ fireId }) => fireId)).toEqual(["timer" in answer ? answer.timer.fireId : ""])
      expect(engine.database.tally).toMatchObject({ created: 1, delivered: 1 })
    }),
  )

  engineTest("a cancel is answered as cancelled, and nothing fires", {}, (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "a", inMs: 100 })
      engine.faults.failReply("write", { when: isCancel })
      const cancelling = yield* Effect.forkChild(engine.cancel("a"))
      yield* engine.advance(1_000)
      expect(yield* Fiber.join(cancelling)).toEqual({ result: "cancelled" })
      yield* engine.advance(10_000)
      expect(engine.fires).toEqual([])
      expect(engine.database.tally).toMatchObject({ cancelled: 1 })
    }),
  )

  engineTest("a create, its replacement and its cancel leave nothing behind", {}, (engine) =>
    Effect.gen(function* () {
      // All three are queued before any of them is committed.
      const first = engine.faults.holdCall("write")
      yield* Effect.forkChild(engine.create({ timerId: "other", inMs: 60_000 }))
      yield* first.reached
      yield* Effect.forkChild(engine.create({ timerId: "a" }))
      yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 100 }))
      const cancelling = yield* Effect.forkChild(engine.cancel("a"))
      yield* engine.still
      engine.faults.failReply("write", { times: 3 })
      yield* first.release
      yield* engine.advance(20_000)
      expect(yield* Fiber.join(cancelling)).toEqual({ result: "cancelled" })
      expect(engine.fires).toEqual([])
      expect(engine.stored("a").pending).toBeUndefined()
    }),
  )

  engineTest("a delivery is settled, and never repeated", {}, (engine) =>
    Effect.gen(function* () {
      engine.faults.failReply("write", { when: isOutcome, times: 2 })
      yield* engine.create({ timerId: "a" })
      yield* engine.advance(30_000)
      expect(engine.fires.length).toBe(1)
      expect(engine.stored("a").last).toMatchObject({ state: "delivered", attempts: 1 })
      expect(engine.node.engine.status().stalledLoops).toEqual([])
    }),
  )

  engineTest("a retry is counted once and made once", {}, (engine) =>
    Effect.gen(function* () {
      let isFirst = true
      engine.onFire(() => {
        const answer = isFirst ? refused : delivered
        isFirst = false
        return Effect.succeed(answer)
      })
      engine.faults.failReply("write", { when: isOutcome })
      yield* engine.create({ timerId: "a" })
      yield* engine.advance(30_000)
      expect(engine.fires.map(({ attempt }) => attempt)).toEqual([1, 2])
      expect(engine.stored("a").last).toMatchObject({ state: "delivered", attempts: 2 })
    }),
  )

  engineTest("a settle that failed without effect is repeated as a settle", {}, (engine) =>
    Effect.gen(function* () {
      engine.faults.fail("write", { when: isOutcome, times: 4 })
      yield* engine.create({ timerId: "a" })
      yield* engine.advance(30_000)
      expect(engine.fires.length).toBe(1)
      expect(engine.stored("a").last?.state).toBe("delivered")
    }),
  )
})

describe("the contents of the window", () => {
  engineTest(
    "a full window does not load, and every timer fires on time",
    { window: { timers: 8, page: 3 }, shards: 1 },
    (engine) =>
      Effect.gen(function* () {
        const start = engine.now()
        for (let index = 0; index < 60; index++) {
          yield* engine.create({ timerId: `t${index}`, executeAt: start + 20_000 + index * 100 })
        }
        const before = engine.faults.calls("due")
        yield* engine.advance(15_000)
        expect(engine.faults.calls("due") - before).toBeLessThan(10)
        yield* engine.advance(15_000)
        expect(engine.fires.map((fire) => fire.at - start)).toEqual(
          Array.from({ length: 60 }, (_, index) => 20_000 + index * 100),
        )
        expect(engine.faults.calls("due") - before).toBeLessThan(120)
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest(
    "a create that changes nothing loads the existing timer into memory",
    { pollingIntervalMs: 600_000, ownership: { renewEveryMs: 3_000 } },
    (engine) =>
      Effect.gen(function* () {
        const command = engine.command({ timerId: "a", inMs: 300, correlationId: "c-1" })
        const timer = sampleTimer({ timerId: "a", executeAt: command.executeAt, spec: command.spec })
        yield* engine.faults.store.insertIfAbsent(0, [putOf(timer)])
        expect((yield* engine.node.scheduler.create(command)).result).toBe("unchanged")
        yield* engine.advance(2_000)
        expect(engine.fires.map((fire) => fire.at)).toEqual([command.executeAt])
        expect(yield* engine.rescued).toBe(0)
      }),
  )
})

describe("a shard that another node has claimed", () => {
  engineTest(
    "a running sweep does not count the timers of a cleared window as missing",
    { ownership: { renewEveryMs: 3_000 } },
    (engine) =>
      Effect.gen(function* () {
        engine.hang()
        yield* engine.create({ timerId: "a" })
        const { leases } = engine.faults
        const lease = at(yield* leases.owners, 0)
        const sweep = engine.faults.holdReply("dueHeads")
        // The part that would end the loops of a lost shard is busy, so the loops run for a while.
        for (const method of ["renew", "members", "owners"] as const)
          engine.faults.holdCall(method, { times: Number.POSITIVE_INFINITY })
        yield* engine.advance(5_000)
        yield* sweep.reached
        expect(yield* leases.claim(lease, "node-2")).toBeDefined()
        expect((yield* Effect.flip(engine.create({ timerId: "b" })))._tag).toBe("NoOwner")
        yield* sweep.release
        yield* engine.still
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest("the first refused write stops it at once", { ownership: { renewEveryMs: 3_000 } }, (engine) =>
    Effect.gen(function* () {
      // The next renewal, which would also tell the node, is two seconds away.
      yield* engine.advance(1_000)
      yield* engine.create({ timerId: "a", inMs: 500 })
      const { leases } = engine.faults
      expect(yield* leases.claim(at(yield* leases.owners, 0), "node-2")).toBeDefined()
      const refusal = yield* Effect.flip(engine.create({ timerId: "b", inMs: 500 }))
      expect(refusal._tag).toBe("NoOwner")
      yield* engine.advance(700)
      expect(engine.fires).toEqual([])
      expect(engine.stored("b").pending).toBeUndefined()
    }),
  )
})
