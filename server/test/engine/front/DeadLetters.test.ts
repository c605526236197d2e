// What operators do with dead letters, and the answers. A replayed dead letter fires, and a discarded one is gone. A
// call does a limited amount of work and makes progress.
import { describe, expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import { endOfLife } from "../../../src/domain/endOfLife.ts"
import type { Timer } from "../../../src/domain/Timer.ts"
import type { Unstorable, WriteAnswer } from "../../../src/domain/WriteItem.ts"
import { type DeadSelection, makeDeadLetters } from "../../../src/engine/front/DeadLetters.ts"
import type { ListQuery } from "../../../src/ports/TimerStore.ts"
import { applyTo } from "../../../testkit/applyTo.ts"
import { delivered, type EngineHarness, engineTest } from "../../../testkit/EngineHarness.ts"
import { at } from "../../../testkit/StoreFixture.ts"
import { outcomeOf, putOf, sampleNow, sampleTimer } from "../../../testkit/timers.ts"

const gone = { kind: "dead", reason: "refused", error: "gone", status: 410 } as const
const bytes = (text: string) => new TextEncoder().encode(text)
const all = { namespace: "shop", filter: {}, isDryRun: false } as const
const dry = (selection: DeadSelection): DeadSelection => ({ ...selection, isDryRun: true })
const ofKey = (timerId: string): DeadSelection => ({ namespace: "shop", timerId, isDryRun: false })

/** Puts dead letters into the store as if they had been there for long, each later than the one before. */
const bury = (engine: EngineHarness, ids: ReadonlyArray<string>, given: Partial<Timer> = {}) => {
  const now = engine.now()
  return ids.map((timerId, index) => {
    const createdAt = now - 1_000_000 + engine.database.tally.created
    const timer = sampleTimer({ namespace: "shop", timerId, createdAt, fireAt: createdAt, ...given })
    applyTo(engine.database, 0, putOf(timer))
    applyTo(
      engine.database,
      0,
      outcomeOf(timer, { to: "dead", reason: "refused" }, { at: createdAt + index }),
    )
    return timer
  })
}

/** Puts timers with distant due times into the store, as `bury` does. */
const occupy = (engine: EngineHarness, ids: ReadonlyArray<string>) => {
  for (const timerId of ids)
    applyTo(
      engine.database,
      0,
      putOf(sampleTimer({ namespace: "shop", timerId, fireAt: engine.now() + 9e8 })),
    )
}

const named = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}${n}`)

const deadCount = (engine: EngineHarness, namespace = "shop") =>
  Effect.map(engine.node.scheduler.count({ namespace, state: "dead" }), ({ count }) => count)

describe("a replay", () => {
  engineTest(
    "fires the dead timer at once with its contents, under a new fireId and with all attempts",
    {},
    (engine) =>
      Effect.gen(function* () {
        engine.onFire(() => Effect.succeed(gone))
        yield* engine.create({ timerId: "a", payload: bytes('{"n":1}'), correlationId: "c" })
        yield* engine.advance(0)
        expect(engine.stored("a").last).toMatchObject({ state: "dead", attemptLog: [{ status: 410 }] })
        engine.onFire(({ attempt }) =>
          Effect.succeed(
            attempt < 3 ? { kind: "retry", error: `no ${attempt}`, isHostFailure: false } : delivered,
          ),
        )
        yield* engine.advance(3_600_000)
        const replayedAt = engine.now()
        expect(yield* engine.node.scheduler.replay(ofKey("a"))).toEqual({
          replayed: 1,
          skipped: 0,
          more: false,
        })
        yield* engine.advance(0)
        expect(engine.fires).toHaveLength(2)
        expect(at(engine.fires, 1)).toMatchObject({
          at: replayedAt,
          executeAt: replayedAt,
          attempt: 1,
          payload: bytes('{"n":1}'),
          correlationId: "c",
        })
        expect(at(engine.fires, 1).fireId).not.toBe(at(engine.fires, 0).fireId)
        yield* engine.advance(60_000)
        expect(engine.stored("a").last).toMatchObject({
          state: "delivered",
          attempts: 3,
          attemptLog: [{ error: "no 1" }, { error: "no 2" }, { status: 200 }],
        })
        expect(yield* deadCount(engine)).toBe(0)
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest(
    "of a key takes its latest dead letter, and skips the others and those of a pending key",
    {},
    (engine) =>
      Effect.gen(function* () {
        const { scheduler } = engine.node
        expect(yield* scheduler.replay(ofKey("a"))).toBeUndefined()
        const lives = [1, 2, 3].flatMap((n) => bury(engine, ["a"], { payload: bytes(String(n)) }))
        bury(engine, ["a1", "other"])
        expect(yield* scheduler.replay(dry(ofKey("a")))).toEqual({ replayed: 1, skipped: 2, more: false })
        expect(engine.database.tally.replayed).toBe(0)
        engine.hang()
        expect(yield* scheduler.replay(ofKey("a"))).toEqual({ replayed: 1, skipped: 2, more: false })
        yield* engine.advance(0)
        expect(engine.fires.map(({ payload }) => payload)).toEqual([bytes("3")])
        expect(yield* scheduler.replay(ofKey("a"))).toEqual({ replayed: 0, skipped: 2, more: false })
        expect(yield* scheduler.replay(dry(ofKey("a")))).toEqual({ replayed: 0, skipped: 2, more: false })
        expect(lives).toHaveLength(3)
        expect(yield* deadCount(engine)).toBe(4)
      }),
  )

  engineTest("by a filter takes the matching ones, only of its namespace", { shards: 4 }, (engine) =>
    Effect.gen(function* () {
      engine.onFire(() => Effect.succeed(gone))
      for (const timerId of ["a-1", "a-2", "b-1"]) yield* engine.create({ timerId, correlationId: timerId })
      for (const timerId of ["c-1", "c-2"]) yield* engine.create({ timerId, tags: ["tagged", timerId] })
      yield* engine.create({ timerId: "a-1", namespace: "other" })
      yield* engine.advance(10)
      engine.onFire(() => Effect.succeed(delivered))
      const asked = { namespace: "shop", filter: { idPrefix: "a-" }, isDryRun: false }
      const { scheduler } = engine.node
      expect(yield* scheduler.replay(dry(asked))).toEqual({ replayed: 2, skipped: 0, more: false })
      expect(yield* scheduler.replay(asked)).toEqual({ replayed: 2, skipped: 0, more: false })
      expect(yield* scheduler.replay(asked)).toEqual({ replayed: 0, skipped: 0, more: false })
      const byCorrelation = { ...asked, filter: { correlationId: "b-1", exclusiveUntilMs: engine.now() } }
      expect(yield* scheduler.replay(byCorrelation)).toEqual({ replayed: 1, skipped: 0, more: false })
      const discarding = { ...asked, filter: { tag: "c-2" } }
      expect(yield* scheduler.discard(discarding)).toEqual({ discarded: 1, more: false })
      const tagged = { ...asked, filter: { tag: "tagged" } }
      expect(yield* scheduler.replay(tagged)).toEqual({ replayed: 1, skipped: 0, more: false })
      yield* engine.advance(10)
      expect(yield* deadCount(engine)).toBe(0)
      expect(yield* deadCount(engine, "other")).toBe(1)
    }),
  )

  engineTest("of many is limited, says that there is more, and takes them all when repeated", {}, (engine) =>
    Effect.gen(function* () {
      const { scheduler } = engine.node
      bury(engine, named("k", 2_300))
      const answers = []
      do {
        const told = yield* scheduler.replay(dry(all))
        answers.push(yield* scheduler.replay(all))
        expect(told).toEqual(at(answers, answers.length - 1))
      } while (at(answers, answers.length - 1)?.more === true)
      expect(answers.map((answer) => answer?.replayed)).toEqual([1_000, 1_000, 300])
      yield* engine.advance(1_000)
      expect(new Set(engine.fires.map(({ timerId }) => timerId)).size).toBe(2_300)
      expect(engine.fires).toHaveLength(2_300)
    }),
  )

  engineTest("continues after dead letters that it must skip", {}, (engine) =>
    Effect.gen(function* () {
      const { scheduler } = engine.node
      const taken = named("taken", 2_500)
      bury(engine, taken)
      occupy(engine, taken)
      bury(engine, named("free", 10))
      const expected = { replayed: 10, skipped: 2_500, more: false }
      expect(yield* scheduler.replay(dry(all))).toEqual(expected)
      expect(yield* scheduler.replay(all)).toEqual(expected)
      expect(yield* scheduler.replay(all)).toEqual({ ...expected, replayed: 0 })
    }),
  )

  engineTest(
    "begins with the earliest, so timers that die again do not take the turn of others",
    {},
    (engine) =>
      Effect.gen(function* () {
        bury(engine, named("k", 1_500))
        engine.onFire(() => Effect.succeed(gone))
        for (const _ of [1, 2]) {
          expect(yield* engine.node.scheduler.replay(all)).toMatchObject({ replayed: 1_000, more: true })
          yield* engine.advance(1_000)
        }
        expect(new Set(engine.fires.map(({ timerId }) => timerId)).size).toBe(1_500)
        // Only those that died before the first call, so that the walk ends.
        const before = { ...all, filter: { exclusiveUntilMs: engine.now() - 2_000 } }
        expect(yield* engine.node.scheduler.replay(before)).toEqual({ replayed: 0, skipped: 0, more: false })
      }),
  )

  engineTest("of several dead letters of a key arms the earliest, and a dry run says so", {}, (engine) =>
    Effect.gen(function* () {
      bury(engine, ["a"], { payload: bytes("1") })
      bury(engine, ["b"])
      bury(engine, ["a"], { payload: bytes("2") })
      engine.hang()
      const expected = { replayed: 2, skipped: 1, more: false }
      expect(yield* engine.node.scheduler.replay(dry(all))).toEqual(expected)
      expect(yield* engine.node.scheduler.replay(all)).toEqual(expected)
      yield* engine.advance(0)
      expect(engine.firesOf("a").map(({ payload }) => payload)).toEqual([bytes("1")])
    }),
  )

  engineTest("starts the next life while an attempt of a cancelled one still runs", {}, (engine) =>
    Effect.gen(function* () {
      bury(engine, ["a"])
      const hanging = engine.hang()
      yield* engine.create({ timerId: "a" })
      yield* engine.advance(0)
      expect((yield* engine.cancel("a")).result).toBe("inFlight")
      expect(yield* engine.node.scheduler.replay(ofKey("a"))).toEqual({
        replayed: 1,
        skipped: 0,
        more: false,
      })
      yield* engine.advance(0)
      expect(engine.firesOf("a")).toHaveLength(2)
      yield* hanging.endAll()
      yield* engine.advance(1_000)
      expect(engine.stored("a")).toMatchObject({
        pending: undefined,
        last: { state: "delivered", attempts: 1 },
      })
      const { created, replayed, delivered: ended, dead } = engine.database.tally
      expect({ created, replayed, ended, dead }).toEqual({ created: 2, replayed: 1, ended: 2, dead: 1 })
    }),
  )

  engineTest("whose commit was reported as failed is carried out once", {}, (engine) =>
    Effect.gen(function* () {
      bury(engine, ["a"])
      engine.faults.failReply("write", { times: 1 })
      const [answer] = yield* Effect.all([engine.node.scheduler.replay(ofKey("a")), engine.advance(5_000)], {
        concurrency: "unbounded",
      })
      expect(answer).toMatchObject({ replayed: 1 })
      yield* engine.advance(1_000)
      expect(engine.firesOf("a")).toHaveLength(1)
      expect(engine.database.tally).toMatchObject({ replayed: 1, delivered: 1, dead: 1 })
    }),
  )
})

describe("a discard", () => {
  engineTest("removes all dead letters of a key, or says that it has none", {}, (engine) =>
    Effect.gen(function* () {
      const { scheduler } = engine.node
      bury(engine, ["a", "a1", "b"])
      bury(engine, ["a"])
      occupy(engine, ["a"])
      expect(yield* scheduler.discard(ofKey("z"))).toBeUndefined()
      expect(yield* scheduler.discard(dry(ofKey("a")))).toEqual({ discarded: 2, more: false })
      expect(yield* deadCount(engine)).toBe(4)
      expect(yield* scheduler.discard(ofKey("a"))).toEqual({ discarded: 2, more: false })
      expect(yield* scheduler.discard(ofKey("a"))).toBeUndefined()
      expect(yield* deadCount(engine)).toBe(2)
      expect(engine.stored("a").pending).toBeDefined()
    }),
  )

  engineTest(
    "whose reply was lost is not answered as nothing done, and one that failed is repeated",
    {},
    (engine) =>
      Effect.gen(function* () {
        const { scheduler } = engine.node
        const discard = (timerId: string) =>
          Effect.gen(function* () {
            const asked = yield* Effect.forkChild(Effect.result(scheduler.discard(ofKey(timerId))))
            yield* engine.advance(5_000)
            return yield* Fiber.join(asked)
          })
        bury(engine, ["a", "b"])
        engine.faults.failReply("write")
        expect(yield* discard("a")).toMatchObject({ failure: { _tag: "NoOwner", mayBeDone: true } })
        engine.faults.fail("write")
        expect(yield* discard("b")).toMatchObject({ success: { discarded: 1 } })
        expect(yield* deadCount(engine)).toBe(0)
      }),
  )

  engineTest("of many is limited, says that there is more, and takes them all when repeated", {}, (engine) =>
    Effect.gen(function* () {
      const { scheduler } = engine.node
      bury(engine, named("k", 1_200))
      bury(engine, ["other"])
      const filter = { idPrefix: "k" }
      expect(yield* scheduler.discard(dry({ ...all, filter }))).toEqual({ discarded: 1_000, more: true })
      expect(yield* scheduler.discard({ ...all, filter })).toEqual({ discarded: 1_000, more: true })
      expect(yield* scheduler.discard({ ...all, filter })).toEqual({ discarded: 200, more: false })
      expect(yield* scheduler.discard(all)).toEqual({ discarded: 1, more: false })
      expect(engine.database.tally).toMatchObject({ created: 1_201, dead: 0, discarded: 1_201 })
    }),
  )

  engineTest("is counted, like a replay", {}, (engine) =>
    Effect.gen(function* () {
      bury(engine, ["a", "b"])
      const before = yield* engine.metric("timer_commands_received_total")
      yield* engine.node.scheduler.discard(ofKey("a"))
      yield* engine.node.scheduler.replay(ofKey("b"))
      expect(yield* engine.metric("timer_commands_received_total")).toBe(before + 2)
    }),
  )
})

describe("in a cluster", () => {
  engineTest(
    "any node replays and discards for any key",
    { isEmpty: true, areLinked: true, shards: 8 },
    (engine) =>
      Effect.gen(function* () {
        const one = yield* engine.startNode("one")
        yield* engine.startNode("two")
        yield* engine.advance(10_000)
        engine.onFire(() => Effect.succeed(gone))
        for (const timerId of named("k", 40))
          yield* engine.create({ timerId, payload: bytes(`"${timerId}"`) })
        yield* engine.advance(1_000)
        expect(yield* deadCount(engine)).toBe(40)
        engine.onFire(() => Effect.succeed(delivered))
        const replaying = { ...all, filter: { idPrefix: "k1" } }
        const [replayed] = yield* Effect.all([one.scheduler.replay(replaying), engine.advance(100)], {
          concurrency: "unbounded",
        })
        expect(replayed).toEqual({ replayed: 11, skipped: 0, more: false })
        const [discarded] = yield* Effect.all([one.scheduler.discard(all), engine.advance(100)], {
          concurrency: "unbounded",
        })
        expect(discarded).toEqual({ discarded: 29, more: false })
        yield* engine.advance(1_000)
        const again = engine.fires.slice(40)
        expect(
          again.map(({ timerId, payload }) => `"${timerId}" ${new TextDecoder().decode(payload)}`),
        ).toEqual(again.map(({ timerId }) => `"${timerId}" "${timerId}"`))
        expect(new Set(again.map(({ node }) => node))).toEqual(new Set(["one", "two"]))
        expect(again).toHaveLength(11)
        expect(yield* engine.rescued).toBe(0)
      }),
  )
})

describe("a call that can do nothing", () => {
  /** Endlessly many dead letters. All belong to pending keys, except those at the named positions. */
  const endless = (free: ReadonlySet<number>) => {
    let listed = 0
    let asked = 0
    const calls = makeDeadLetters({
      store: {
        list: ({ limit }: ListQuery) =>
          Effect.sync(() => ({
            items: Array.from({ length: limit }, () => ({
              state: "dead" as const,
              life: endOfLife(sampleTimer({ timerId: `k${listed++}` }), "dead", sampleNow),
            })),
            next: String(listed),
          })),
        find: () => Effect.succeed({ pending: sampleTimer(), last: undefined }),
      },
      wall: { now: () => sampleNow },
      ids: { uuidV7: () => "id" },
      metrics: { received: () => {} },
      // Each item gets an answer of its own kind.
      write: <Answer extends WriteAnswer>() =>
        Effect.sync(() => ({ result: free.has(asked++) ? "alreadyReplayed" : "skipped" })) as Effect.Effect<
          Exclude<Answer, Unstorable>
        >,
    })
    return Effect.map(calls.replay(all), (answer) => ({ ...answer, listed }))
  }

  test("ends, and does not ask for a repeat", async () => {
    const { listed, ...answer } = await Effect.runPromise(endless(new Set()))
    expect(answer).toEqual({ replayed: 0, skipped: 20_000, more: false })
    expect(listed).toBe(20_000)
  })

  test("asks for a repeat if it has done anything", async () => {
    const { more, replayed } = await Effect.runPromise(endless(new Set([15_000])))
    expect({ more, replayed }).toEqual({ more: true, replayed: 1 })
  })
})
