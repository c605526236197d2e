// Timers and lives that cannot be read. The engine continues without them, reports each once, and uses them again after
// a repair.
import { expect } from "bun:test"
import { Effect } from "effect"
import type { Timer } from "../../../src/domain/Timer.ts"
import { type EngineHarness, engineTest } from "../../../testkit/EngineHarness.ts"
import { damageInMemory } from "../../../testkit/memoryDamage.ts"

const unreadableMetric = (engine: EngineHarness, node = engine.node) =>
  Effect.andThen(node.engine.sample, engine.metric("timer_store_unreadable"))

const pendingOf = (engine: EngineHarness, timerId: string): Timer => {
  const { pending } = engine.stored(timerId)
  if (pending === undefined) throw new Error(`${timerId} is not pending`)
  return pending
}

const fired = (engine: EngineHarness) => engine.fires.map(({ timerId }) => timerId)

const logged = (engine: EngineHarness, text: string) =>
  engine.logs.filter((line) => line.includes(text)).length

/** Longer than a lease, so that another node takes over. */
const takeoverMs = 10_000
/** The engine reads unreadable rows again at least this often. */
const roundMs = 61_000

engineTest(
  "damaged timers delay no others, are logged once each and counted, and are not read again and again",
  { window: { page: 2 } },
  (engine) =>
    Effect.gen(function* () {
      for (let index = 0; index < 8; index++) {
        yield* engine.create({ timerId: `t-${index}`, inMs: 20_000 + index })
      }
      yield* engine.node.kill
      const { damage } = damageInMemory(engine.database)
      // More than a page of them in a row.
      const bad = ["t-1", "t-2", "t-3", "t-4", "t-7"]
      for (const timerId of bad) yield* damage(pendingOf(engine, timerId), {})
      const node = yield* engine.startNode("node-2")
      yield* engine.advance(takeoverMs + 20_000)
      expect(fired(engine)).toEqual(["t-0", "t-5", "t-6"])
      expect(engine.fires.map(({ at, executeAt }) => at - executeAt)).toEqual([0, 0, 0])
      expect(logged(engine, "a timer cannot be read and does not fire")).toBe(bad.length)
      expect(yield* unreadableMetric(engine, node)).toBe(bad.length)
      // Eight sweeps, and all of them find these rows.
      const reads = node.faults.calls("find")
      yield* engine.advance(40_000)
      expect(node.faults.calls("find") - reads).toBeLessThanOrEqual(bad.length)
      expect(logged(engine, "a timer cannot be read and does not fire")).toBe(bad.length)
      expect(yield* engine.rescued).toBe(0)
      for (const timerId of bad) expect(pendingOf(engine, timerId).attempts).toBe(0)
    }),
)

engineTest("a timer that was repaired fires, and is no longer counted", {}, (engine) =>
  Effect.gen(function* () {
    yield* engine.create({ timerId: "t", inMs: 20_000 })
    yield* engine.node.kill
    const { damage, repair } = damageInMemory(engine.database)
    const timer = pendingOf(engine, "t")
    yield* damage(timer, {})
    const node = yield* engine.startNode("node-2")
    yield* engine.advance(takeoverMs + 20_000)
    expect(fired(engine)).toEqual([])
    expect(yield* unreadableMetric(engine, node)).toBe(1)
    yield* repair(timer)
    yield* engine.advance(2 * roundMs)
    expect(fired(engine)).toEqual(["t"])
    expect(engine.stored("t").last?.state).toBe("delivered")
    expect(yield* unreadableMetric(engine, node)).toBe(0)
  }),
)

engineTest(
  "a timer that is damaged while it is in flight is set aside when its outcome is refused",
  {},
  (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      yield* engine.create({ timerId: "t" })
      yield* engine.create({ timerId: "used", inMs: 3_600_000 })
      yield* engine.still
      const { damage } = damageInMemory(engine.database)
      yield* damage(pendingOf(engine, "t"), {})
      // A create expected an unused key and found a used one, so the next write looks first.
      yield* engine.create({ timerId: "used", inMs: 7_200_000 })
      yield* hanging.end("t")
      yield* engine.advance(20_000)
      expect(fired(engine)).toEqual(["t"])
      expect(yield* unreadableMetric(engine)).toBe(1)
      expect(pendingOf(engine, "t").attempts).toBe(0)
    }),
)

engineTest(
  "callers are told that a timer or a life cannot be read, and lists continue without it",
  {},
  (engine) =>
    Effect.gen(function* () {
      yield* engine.create({ timerId: "pending", inMs: 3_600_000 })
      for (const timerId of ["ended", "other"]) yield* engine.create({ timerId })
      yield* engine.still
      const { damage } = damageInMemory(engine.database)
      yield* damage(pendingOf(engine, "pending"), {})
      const { last } = engine.stored("ended")
      if (last === undefined) throw new Error("it has not ended")
      yield* damage(last, {})
      const { scheduler } = engine.node
      const reason = expect.stringContaining("punctual doctor")
      for (const timerId of ["pending", "ended"]) {
        const error = yield* Effect.flip(scheduler.get("shop", timerId))
        expect(error).toMatchObject({ _tag: "TimerUnreadable", reason })
      }
      expect(yield* Effect.flip(engine.cancel("pending"))).toMatchObject({ _tag: "TimerUnreadable", reason })
      const { timers } = yield* scheduler.list({
        namespace: "shop",
        state: "delivered",
        reversed: false,
        includePayload: false,
        limit: 10,
      })
      expect(timers).toMatchObject([{ life: { timerId: "other" } }])
      expect(yield* unreadableMetric(engine)).toBe(2)
      // After another look, both are still there. After the life was pruned, only the timer is.
      yield* engine.advance(roundMs)
      expect(yield* unreadableMetric(engine)).toBe(2)
      engine.database.prune(Number.MAX_SAFE_INTEGER, 10)
      yield* engine.advance(roundMs)
      expect(yield* unreadableMetric(engine)).toBe(1)
      expect(logged(engine, "cannot be read")).toBe(2)
    }),
)
