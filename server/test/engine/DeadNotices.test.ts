// Calls of onDead: who is told, of what, and that a crash at any moment neither loses a call nor makes one for a timer that
// lives. A virtual clock, real engines over one memory database, faults between the two writes.
import { describe, expect } from "bun:test"
import { defaultLimits } from "@punctual/api/Limits"
import { completeRetryPolicy } from "@punctual/api/RetryPolicy"
import { Effect, Metric } from "effect"
import type { Spec } from "../../src/domain/Timer.ts"
import type { WriteItem } from "../../src/domain/WriteItem.ts"
import type { Delivery, Fire } from "../../src/ports/Deliverer.ts"
import type { ShardBatch } from "../../src/ports/TimerStore.ts"
import { delivered, type EngineHarness, engineTest, refused } from "../../testkit/EngineHarness.ts"
import { sampleSpec } from "../../testkit/timers.ts"

const onDead = webhook("https://ops.example/dead")
const once = { ...sampleSpec.retryPolicy, maxAttempts: 1 }
const gone: Delivery = { kind: "dead", reason: "refused", error: "answered 410", status: 410 }

function webhook(url: string) {
  return {
    type: "webhook",
    url,
    method: "POST",
    timeoutMs: defaultLimits.timeoutDefaultMs,
    body: "envelope",
  } as const
}

const isNotice = ({ timerId }: { readonly timerId: string }): boolean => timerId.startsWith("_dead.")

const noticesIn = (engine: EngineHarness) => engine.fires.filter(isNotice)

/** All but notices end so. */
const ordinary = (delivery: Delivery) => (fire: Fire) =>
  Effect.succeed(fire.death === undefined ? delivery : delivered)

const isEndOf = (timerId: string) => (item: WriteItem) =>
  item.kind === "outcome" && item.timer.timerId === timerId && item.then.to === "dead"

const isPutOfNotice = (item: WriteItem): boolean => item.kind === "put" && isNotice(item.timer)

const has = (matches: (item: WriteItem) => boolean) => (batches: ReadonlyArray<ShardBatch>) =>
  batches.some(({ items }) => items.some(matches))

const setFor = (engine: EngineHarness, settings: object) =>
  engine.node.directory.change("shop", engine.now(), (before) => Effect.succeed({ ...before, ...settings }))

/** How many attempts the metrics have counted. */
const countsIn = Effect.fnUntraced(function* (engine: EngineHarness) {
  let started = 0
  for (const { id, type, state } of yield* Metric.snapshot) {
    if (id === "timer_lateness_seconds" && type === "Histogram") started += state.count
  }
  return { started, settled: yield* engine.metric("timer_deliveries_total") }
})

/** Creates a timer that is told of, and gives its fireId. */
const createTold = (engine: EngineHarness, spec: Partial<Spec> = {}, executeAt = engine.now()) =>
  Effect.gen(function* () {
    const created = yield* engine.create({
      timerId: "a",
      executeAt,
      payload: new TextEncoder().encode('{"n":1}'),
      correlationId: "order-1",
      tags: ["trial"],
      spec: { retryPolicy: once, onDead, ...spec },
    })
    if (!("timer" in created)) throw new Error("it was not created")
    return created.timer
  })

describe("who is told", () => {
  const ways: ReadonlyArray<readonly [string, Delivery, Partial<Spec>, number, object]> = [
    [
      "attempts used up",
      refused,
      {},
      0,
      { reason: "attemptsExhausted", attempts: 1, lastAttempt: { status: 409 } },
    ],
    ["refused by the target", gone, {}, 0, { reason: "refused", attempts: 1, lastAttempt: { status: 410 } }],
    ["expired", delivered, { expireAfterMs: 1_000 }, -5_000, { reason: "expired", attempts: 0 }],
  ]
  for (const [way, delivery, spec, offsetMs, death] of ways) {
    engineTest(`a timer that is dead (${way}) is told of by one timer of its own`, { shards: 4 }, (engine) =>
      Effect.gen(function* () {
        engine.onFire(ordinary(delivery))
        const timer = yield* createTold(engine, spec, engine.now() + offsetMs)
        yield* engine.advance(1_000)
        expect(engine.stored("a").last).toMatchObject({ state: "dead", fireId: timer.fireId })
        const [notice, ...more] = noticesIn(engine)
        expect(more).toEqual([])
        expect(notice).toMatchObject({
          timerId: `_dead.${timer.fireId}`,
          attempt: 1,
          target: onDead,
          correlationId: "order-1",
          tags: ["trial"],
          payload: timer.payload,
          death: {
            timerId: "a",
            fireId: timer.fireId,
            revision: timer.revision,
            executeAt: timer.executeAt,
            ...death,
          },
        })
        expect(notice?.fireId).not.toBe(timer.fireId)
        expect(engine.stored(`_dead.${timer.fireId}`).last?.state).toBe("delivered")
        yield* engine.advance(60_000)
        expect(noticesIn(engine)).toHaveLength(1)
      }),
    )
  }

  engineTest(
    "a namespace's onDead is for timers without one, also for those created before it was set",
    {},
    (engine) =>
      Effect.gen(function* () {
        engine.onFire(ordinary(gone))
        yield* engine.create({ timerId: "before", inMs: 1_000, spec: { retryPolicy: once } })
        const ofNamespace = webhook("https://ops.example/namespace")
        yield* setFor(engine, {
          onDead: ofNamespace,
          maxPending: 0,
          retryPolicy: completeRetryPolicy({ waits: [7] }),
        })
        yield* engine.advance(2_000)
        // No room for another timer: the quota is for callers.
        expect(noticesIn(engine).map(({ target }) => target)).toEqual([ofNamespace])
        yield* setFor(engine, { maxPending: 10 })
        yield* createTold(engine)
        yield* engine.advance(2_000)
        expect(noticesIn(engine).map(({ target }) => target)).toEqual([ofNamespace, onDead])
      }),
  )

  engineTest(
    "a notice has the retries of its namespace, and its own death is an ordinary dead letter",
    {},
    (engine) =>
      Effect.gen(function* () {
        engine.onFire(() => Effect.succeed(refused))
        yield* setFor(engine, { onDead, retryPolicy: completeRetryPolicy({ waits: [60_000] }) })
        const { fireId } = yield* createTold(engine)
        yield* engine.advance(1_000)
        expect(noticesIn(engine)).toHaveLength(1)
        yield* engine.advance(120_000)
        expect(noticesIn(engine).map(({ attempt }) => attempt)).toEqual([1, 2])
        expect(engine.stored(`_dead.${fireId}`)).toMatchObject({
          pending: undefined,
          last: { state: "dead", reason: "attemptsExhausted", attempts: 2 },
        })
        expect(engine.fires).toHaveLength(3)
      }),
  )

  engineTest(
    "nobody is told of what was delivered, cancelled or dropped, nor of a discard or a replay",
    {},
    (engine) =>
      Effect.gen(function* () {
        engine.onFire(ordinary(delivered))
        yield* createTold(engine)
        yield* engine.advance(1_000)
        yield* createTold(engine, {}, engine.now() + 1_000)
        yield* engine.cancel("a")
        yield* createTold(engine, { expireAfterMs: 1, onExpire: "drop" }, engine.now() - 1_000)
        yield* engine.advance(1_000)
        expect(engine.stored("a").last).toMatchObject({ state: "cancelled", reason: "expired", attempts: 0 })
        expect(noticesIn(engine)).toEqual([])
        engine.onFire(ordinary(gone))
        yield* createTold(engine)
        yield* engine.advance(1_000)
        expect(noticesIn(engine)).toHaveLength(1)
        engine.onFire(ordinary(delivered))
        yield* engine.node.scheduler.replay({ namespace: "shop", timerId: "a", isDryRun: false })
        yield* engine.advance(1_000)
        expect(engine.stored("a").last?.state).toBe("delivered")
        expect(noticesIn(engine)).toHaveLength(1)
      }),
  )

  engineTest(
    "a notice whose shard another node owns is carried there",
    { shards: 8, areLinked: true },
    (engine) =>
      Effect.gen(function* () {
        yield* engine.startNode("node-2")
        yield* engine.advance(30_000)
        engine.onFire(ordinary(gone))
        const ids = Array.from({ length: 24 }, (_, n) => `t${n}`)
        yield* Effect.forEach(
          ids,
          (timerId) => engine.create({ timerId, spec: { retryPolicy: once, onDead } }),
          {
            concurrency: "unbounded",
          },
        )
        yield* engine.advance(5_000)
        expect(
          noticesIn(engine)
            .map(({ death }) => death?.timerId)
            .sort(),
        ).toEqual([...ids].sort())
        const crossed = noticesIn(engine).filter(
          (notice) => engine.firesOf(notice.death?.timerId ?? "")[0]?.node !== notice.node,
        )
        expect(crossed.length).toBeGreaterThan(0)
      }),
  )
})

describe("a crash between the two writes", () => {
  /** The node dies when the notice is stored and the end of its timer is not. */
  const crashBetween = (engine: EngineHarness) =>
    Effect.gen(function* () {
      engine.onFire(ordinary(gone))
      engine.faults.holdCall("write", { when: has(isEndOf("a")), times: Number.POSITIVE_INFINITY })
      const { fireId } = yield* createTold(engine)
      yield* engine.advance(50)
      expect(engine.stored("a").pending?.fireId).toBe(fireId)
      expect(engine.stored(`_dead.${fireId}`).pending).toBeDefined()
      yield* engine.node.kill
      expect(noticesIn(engine)).toEqual([])
      return fireId
    })

  engineTest(
    "the next owner attempts the timer again: dead again, it is told of once",
    { shards: 4 },
    (engine) =>
      Effect.gen(function* () {
        const fireId = yield* crashBetween(engine)
        yield* engine.startNode("node-2")
        yield* engine.advance(60_000)
        expect(engine.firesOf("a")).toHaveLength(2)
        expect(engine.stored("a").last).toMatchObject({ state: "dead", fireId })
        expect(noticesIn(engine).map(({ death }) => death?.fireId)).toEqual([fireId])
      }),
  )

  engineTest(
    "the next owner attempts the timer again: delivered, the notice is dropped",
    { shards: 4 },
    (engine) =>
      Effect.gen(function* () {
        const fireId = yield* crashBetween(engine)
        engine.onFire(ordinary(delivered))
        yield* engine.startNode("node-2")
        yield* engine.advance(60_000)
        expect(engine.stored("a").last).toMatchObject({ state: "delivered", fireId })
        expect(noticesIn(engine)).toEqual([])
        expect(engine.stored(`_dead.${fireId}`)).toMatchObject({
          pending: undefined,
          last: { state: "cancelled", reason: "notDead", attempts: 0 },
        })
      }),
  )

  engineTest(
    "while the timer waits, so does the notice, holding no slot and using no attempt",
    { shards: 4 },
    (engine) =>
      Effect.gen(function* () {
        const fireId = yield* crashBetween(engine)
        const before = yield* countsIn(engine)
        engine.onFire((fire) => (fire.death === undefined ? Effect.never : Effect.succeed(delivered)))
        const second = yield* engine.startNode("node-2")
        yield* engine.advance(60_000)
        expect(noticesIn(engine)).toEqual([])
        expect(engine.stored(`_dead.${fireId}`).pending).toMatchObject({ attempts: 0 })
        // Only the attempt of the timer counts, and it has not been settled.
        expect(yield* countsIn(engine)).toEqual({ ...before, started: before.started + 1 })
        expect(engine.logs.filter((line) => line.includes("attempt failed"))).toEqual([])
        yield* second.kill
        engine.onFire(ordinary(gone))
        yield* engine.startNode("node-3")
        yield* engine.advance(60_000)
        expect(noticesIn(engine).map(({ attempt }) => attempt)).toEqual([1])
      }),
  )

  engineTest(
    "the next owner delivers the timer, which is armed again and again: the notice is dropped",
    { shards: 4 },
    (engine) =>
      Effect.gen(function* () {
        const fireId = yield* crashBetween(engine)
        const rearm: Delivery = { kind: "rearm", next: { inMs: 1_000 } }
        // The attempt takes so long that the notice is postponed. Then other armings have ended since.
        engine.onFire((fire) => Effect.delay(ordinary(rearm)(fire), 2_000))
        yield* engine.startNode("node-2")
        yield* engine.advance(60_000)
        expect(engine.firesOf("a").length).toBeGreaterThan(4)
        expect(engine.stored("a").last?.fireId).not.toBe(fireId)
        expect(noticesIn(engine)).toEqual([])
        expect(engine.stored(`_dead.${fireId}`).last).toMatchObject({ state: "cancelled", reason: "notDead" })
      }),
  )

  engineTest("a notice that is cancelled while it looks has made no attempt", { shards: 4 }, (engine) =>
    Effect.gen(function* () {
      const fireId = yield* crashBetween(engine)
      const before = yield* countsIn(engine)
      engine.onFire(() => Effect.never)
      const second = yield* engine.startNode("node-2")
      const gate = second.faults.holdCall("find", { when: ({ timerId }) => timerId === "a" })
      yield* engine.advance(30_000)
      expect(gate.standing()).toBe(1)
      yield* second.scheduler.cancel("shop", `_dead.${fireId}`, undefined)
      yield* gate.release
      yield* engine.advance(30_000)
      const { last } = engine.stored(`_dead.${fireId}`)
      expect(last).toMatchObject({ state: "cancelled", attempts: 0 })
      expect(last?.attemptLog).toBeUndefined()
      expect(yield* countsIn(engine)).toEqual({ ...before, started: before.started + 1 })
    }),
  )

  engineTest(
    "a crash before the notice is stored leaves the timer to the next owner",
    { shards: 4 },
    (engine) =>
      Effect.gen(function* () {
        engine.onFire(ordinary(gone))
        engine.faults.holdCall("write", { when: has(isPutOfNotice), times: Number.POSITIVE_INFINITY })
        const { fireId } = yield* createTold(engine)
        yield* engine.advance(1_000)
        // The end of the timer waits for the notice.
        expect(engine.stored("a").pending?.fireId).toBe(fireId)
        yield* engine.node.kill
        yield* engine.startNode("node-2")
        yield* engine.advance(60_000)
        expect(noticesIn(engine).map(({ death }) => death?.fireId)).toEqual([fireId])
      }),
  )

  engineTest(
    "a crash after both writes, and before the notice is sent, loses nothing",
    { shards: 4 },
    (engine) =>
      Effect.gen(function* () {
        engine.onFire((fire) => (fire.death === undefined ? Effect.succeed(gone) : Effect.never))
        const { fireId } = yield* createTold(engine)
        yield* engine.advance(1_000)
        expect(engine.stored("a").last?.state).toBe("dead")
        yield* engine.node.kill
        engine.onFire(ordinary(delivered))
        yield* engine.startNode("node-2")
        yield* engine.advance(60_000)
        // At least once: both under the same fireId.
        expect(new Set(noticesIn(engine).map((notice) => notice.fireId)).size).toBe(1)
        expect(engine.stored(`_dead.${fireId}`).last?.state).toBe("delivered")
      }),
  )
})

engineTest(
  "cancelled while its notice is stored, a timer is not dead, and nobody is told",
  { shards: 4 },
  (engine) =>
    Effect.gen(function* () {
      engine.onFire(ordinary(gone))
      const gate = engine.faults.holdReply("write", { when: has(isPutOfNotice) })
      const { fireId } = yield* createTold(engine)
      yield* gate.reached
      yield* Effect.forkChild(engine.cancel("a"))
      yield* engine.still
      yield* gate.release
      yield* engine.advance(1_000)
      expect(engine.stored("a").last).toMatchObject({ state: "cancelled", fireId })
      yield* engine.advance(60_000)
      expect(noticesIn(engine)).toEqual([])
      expect(engine.stored(`_dead.${fireId}`).last).toMatchObject({ state: "cancelled", reason: "notDead" })
    }),
)

for (const [way, spec, offsetMs] of [
  ["expired", { expireAfterMs: 1_000 }, -5_000],
  ["refused by the target", {}, 0],
] as const) {
  engineTest(
    `replaced while its notice is stored, a timer (${way}) is not dead, and nobody is told`,
    { shards: 4 },
    (engine) =>
      Effect.gen(function* () {
        engine.onFire(ordinary(gone))
        const gate = engine.faults.holdReply("write", { when: has(isPutOfNotice) })
        // The notice may look before the end of the replaced arming is stored.
        const recording = engine.faults.holdCall("write", { when: has(({ kind }) => kind === "record") })
        const { fireId } = yield* createTold(engine, spec, engine.now() + offsetMs)
        yield* gate.reached
        yield* Effect.forkChild(engine.create({ timerId: "a", inMs: 3_600_000 }))
        yield* engine.still
        yield* gate.release
        yield* engine.advance(10_000)
        expect(recording.standing()).toBe(1)
        expect(noticesIn(engine)).toEqual([])
        yield* recording.release
        yield* engine.advance(60_000)
        expect(engine.stored("a").pending?.fireId).not.toBe(fireId)
        expect(engine.stored("a").last).toMatchObject({ state: "cancelled", fireId })
        expect(noticesIn(engine)).toEqual([])
        expect(engine.stored(`_dead.${fireId}`).last).toMatchObject({ state: "cancelled", reason: "notDead" })
      }),
  )
}

engineTest("a dead letter that is discarded before its notice is sent is told of", { shards: 4 }, (engine) =>
  Effect.gen(function* () {
    engine.onFire(ordinary(gone))
    const endFault = engine.faults.fail("find", { times: Number.POSITIVE_INFINITY })
    const { fireId } = yield* createTold(engine)
    yield* engine.advance(1_000)
    expect(engine.stored("a").last).toMatchObject({ state: "dead", fireId })
    yield* engine.node.scheduler.discard({ namespace: "shop", timerId: "a", isDryRun: false })
    expect(engine.stored("a").last).toBeUndefined()
    endFault()
    yield* engine.advance(60_000)
    expect(noticesIn(engine).map(({ death, attempt }) => [death?.fireId, attempt])).toEqual([[fireId, 1]])
  }),
)

engineTest("an attempt that ends during a drain is stored with its notice", { shards: 4 }, (engine) =>
  Effect.gen(function* () {
    const hanging = engine.hang((fire) => fire.death === undefined)
    const { fireId } = yield* createTold(engine)
    yield* engine.advance(100)
    yield* Effect.forkChild(engine.node.engine.drain(10_000))
    yield* engine.advance(100)
    yield* hanging.end("a", gone)
    yield* engine.advance(30_000)
    expect(engine.stored("a").last).toMatchObject({ state: "dead", fireId })
    expect(engine.stored(`_dead.${fireId}`).pending).toBeDefined()
  }),
)
