// Which node fires a shard, with two processes on one store that know nothing of each other, as on an SQLite file. Each
// node measures leases by its monotonic clock. Nothing compares wall clocks. Cluster.test.ts covers nodes that share
// their shards.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import { applyTo } from "../../../testkit/applyTo.ts"
import type { EngineHarness, EngineNode, HarnessOptions } from "../../../testkit/EngineHarness.ts"
import { delivered, engineTest } from "../../../testkit/EngineHarness.ts"
import type { Gate } from "../../../testkit/StoreFaults.ts"
import { samplePut } from "../../../testkit/timers.ts"

const shards = 4
const leaseMs = 5_000
const marginMs = 1_000
const options: HarnessOptions = { shards, ownership: { leaseMs, marginMs }, areStrangers: true }

const epochs = (engine: EngineHarness) => engine.database.shards.map(({ epoch }) => epoch)
const owners = (engine: EngineHarness) => new Set(engine.database.shards.map(({ node }) => node))

/** A timer every 100 ms, over many shards, for the given time. */
const createMany = (engine: EngineHarness, overMs: number) =>
  engine.node.scheduler.createMany(
    Array.from({ length: overMs / 100 }, (_, index) =>
      engine.command({ timerId: `t${index}`, inMs: 50 + index * 100 }),
    ),
  )

describe("claims", () => {
  engineTest("one node claims all shards at once, and is ready", options, (engine) =>
    Effect.gen(function* () {
      expect(engine.node.engine.status()).toEqual({
        shards,
        ownedShards: shards,
        shardsElsewhere: 0,
        isWaiting: false,
        isDraining: false,
        isPaused: false,
        stalledLoops: [],
      })
      expect(owners(engine)).toEqual(new Set(["node-1"]))
      yield* engine.advance(60_000)
      expect(engine.node.engine.status().stalledLoops).toEqual([])
      // The node does not look at its own shards, because renewals tell it if one is lost.
      expect(engine.faults.calls("owners")).toBe(1)
    }),
  )

  engineTest("a second node waits, says so, is not ready, and refuses writes", options, (engine) =>
    Effect.gen(function* () {
      const second = yield* engine.startNode("node-2")
      yield* engine.advance(30_000)
      expect(second.engine.status()).toMatchObject({
        isWaiting: true,
        waitsFor: "otherProcess",
        ownedShards: 0,
      })
      expect(engine.logs.filter((line) => line.startsWith("waiting: node-1 holds"))).toHaveLength(1)
      const refusal = yield* Effect.flip(second.scheduler.create(engine.command({ inMs: 1_000 })))
      expect(refusal._tag).toBe("NoOwner")
      expect(epochs(engine)).toEqual([1, 1, 1, 1])
    }),
  )

  engineTest(
    "a node that waits for no other process says that it starts, or that it has lost its shards",
    options,
    (engine) =>
      Effect.gen(function* () {
        const drained = (node: EngineNode) =>
          Effect.gen(function* () {
            const draining = yield* Effect.forkChild(node.engine.drain(1_000))
            yield* engine.advance(2_000)
            yield* Fiber.join(draining)
          })
        yield* drained(engine.node)
        const always = { times: Number.POSITIVE_INFINITY }
        let endOfFaults = () => {}
        const second = yield* engine.startNode("node-2", (faults) => {
          endOfFaults = faults.fail("claim", always)
        })
        yield* engine.advance(30_000)
        expect(second.engine.status()).toMatchObject({ isWaiting: true, waitsFor: "firstClaim" })
        endOfFaults()
        yield* engine.advance(2_000)
        expect(second.engine.status()).toMatchObject({ isWaiting: false, waitsFor: undefined })
        // Another node takes the shards and gives them up again.
        const endOfSilence = second.faults.fail("renew", always)
        second.faults.fail("claim", always)
        const third = yield* engine.startNode("node-3")
        yield* engine.advance(12_000)
        expect(third.engine.status().ownedShards).toBe(shards)
        endOfSilence()
        yield* engine.advance(2_000)
        yield* drained(third)
        yield* engine.advance(2_000)
        expect(second.engine.status()).toMatchObject({ isWaiting: true, waitsFor: "nextClaim" })
      }),
  )

  engineTest(
    "a dead node's shards are taken after the lease time, not before, under a higher epoch",
    options,
    (engine) =>
      Effect.gen(function* () {
        const second = yield* engine.startNode("node-2")
        yield* engine.advance(10_500)
        yield* createMany(engine, 8_000)
        const killedAt = engine.now()
        yield* engine.node.kill
        yield* engine.advance(leaseMs - 1_100)
        expect(second.engine.status().isWaiting).toBe(true)
        yield* engine.advance(1_600)
        expect(second.engine.status()).toMatchObject({ isWaiting: false, ownedShards: shards })
        expect(engine.logs).toContain("the wait is over: this process fires now")
        // The log says it once, not once for each shard.
        expect(engine.logs.filter((line) => line.includes("has stopped renewing"))).toEqual([
          "node-1 has stopped renewing: this process has taken over 4 shards of it",
        ])
        expect(epochs(engine)).toEqual([2, 2, 2, 2])
        yield* engine.advance(10_000)
        // Timers that were due in between fire as soon as their shard has an owner. Later timers fire on their
        // millisecond. All fire once.
        expect(new Set(engine.fires.map(({ timerId }) => timerId)).size).toBe(80)
        expect(engine.fires.length).toBe(80)
        expect(engine.fires.every(({ at }) => at - killedAt <= 10_000)).toBe(true)
        for (const fire of engine.fires) expect([fire.node, fire.epoch]).toEqual(["node-2", 2])
      }),
  )

  engineTest(
    "a slow read makes no node silent, because this node did not look in that time",
    options,
    (engine) =>
      Effect.gen(function* () {
        const second = yield* engine.startNode("node-2")
        yield* engine.advance(1_300)
        // Earlier reads had shown this counter. By the receipt of the reply, that is longer ago than the lease time.
        const reply = second.faults.holdReply("owners")
        yield* engine.advance(leaseMs + 1_000)
        expect(reply.standing()).toBe(1)
        const claims = second.faults.calls("claim")
        yield* reply.release
        yield* engine.advance(300)
        expect(second.faults.calls("claim")).toBe(claims)
        expect(epochs(engine)).toEqual([1, 1, 1, 1])
        expect(owners(engine)).toEqual(new Set(["node-1"]))
      }),
  )

  engineTest("a drained node releases its shards at once", options, (engine) =>
    Effect.gen(function* () {
      const second = yield* engine.startNode("node-2")
      yield* engine.advance(2_000)
      const draining = yield* Effect.forkChild(engine.node.engine.drain(10_000))
      yield* engine.advance(300)
      yield* Fiber.join(draining)
      expect(second.engine.status().ownedShards).toBe(shards)
      expect(owners(engine)).toEqual(new Set(["node-2"]))
    }),
  )

  engineTest(
    "when two nodes see the same free shards, one gets them",
    { ...options, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const gates: Array<Gate> = []
        const first = yield* engine.startNode("node-1", (faults) => gates.push(faults.holdReply("owners")))
        const second = yield* engine.startNode("node-2")
        expect(second.engine.status().ownedShards).toBe(shards)
        for (const gate of gates) yield* gate.release
        yield* engine.advance(20_000)
        expect(first.engine.status().ownedShards).toBe(0)
        expect(epochs(engine)).toEqual([1, 1, 1, 1])
      }),
  )
})

describe("a claimed shard", () => {
  const ofFirst = { when: (shard: number) => shard === 0 }

  /** Timers due in a second, one in each shard. */
  const createInEach = (engine: EngineHarness) => {
    for (let shard = 0; shard < shards; shard++) {
      const executeAt = engine.now() + 1_000
      applyTo(engine.database, shard, samplePut({ timerId: `t${shard}`, executeAt }))
    }
  }

  engineTest("is not used before it is open", { ...options, isEmpty: true }, (engine) =>
    Effect.gen(function* () {
      createInEach(engine)
      const opening: Array<Gate> = []
      const node = yield* engine.startNode("node-1", (faults) =>
        opening.push(faults.holdCall("open", ofFirst)),
      )
      yield* engine.advance(12_000)
      // The lease is kept the whole time.
      expect(epochs(engine)).toEqual([1, 1, 1, 1])
      expect(node.engine.status().ownedShards).toBe(shards - 1)
      expect(engine.fires.map(({ timerId }) => timerId).sort()).toEqual(["t1", "t2", "t3"])
      for (const gate of opening) yield* gate.release
      yield* engine.advance(100)
      expect(engine.firesOf("t0").map(({ epoch }) => epoch)).toEqual([1])
      expect(node.engine.status().ownedShards).toBe(shards)
    }),
  )

  engineTest(
    "that cannot be opened is released, and claimed again",
    { ...options, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        createInEach(engine)
        const ends: Array<() => void> = []
        const node = yield* engine.startNode("node-1", (faults) =>
          ends.push(faults.fail("open", { ...ofFirst, times: Number.POSITIVE_INFINITY })),
        )
        yield* engine.advance(3_000)
        expect(node.engine.status().ownedShards).toBe(shards - 1)
        expect(engine.firesOf("t0")).toEqual([])
        expect(engine.database.shards[0]?.node).toBeUndefined()
        for (const end of ends) end()
        yield* engine.advance(300)
        const [first, ...others] = epochs(engine)
        expect(engine.firesOf("t0").map(({ epoch }) => epoch)).toEqual([first ?? Number.NaN])
        expect(others).toEqual([1, 1, 1])
      }),
  )

  engineTest(
    "that is still being opened when the node drains is released",
    { ...options, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const node = yield* engine.startNode("node-1", (faults) => void faults.holdCall("open", ofFirst))
        yield* engine.advance(1_000)
        expect(owners(engine)).toEqual(new Set(["node-1"]))
        const draining = yield* Effect.forkChild(node.engine.drain(1_000))
        yield* engine.advance(2_000)
        yield* Fiber.join(draining)
        expect(owners(engine)).toEqual(new Set([undefined]))
      }),
  )
})

describe("a node that cannot renew", () => {
  const stopsInTime = (disturb: (engine: EngineHarness) => void) => (engine: EngineHarness) =>
    Effect.gen(function* () {
      yield* engine.startNode("node-2")
      yield* engine.advance(10_000)
      yield* createMany(engine, 15_000)
      yield* engine.advance(1_000)
      const lastRenewalBefore = engine.now()
      disturb(engine)
      yield* engine.advance(20_000)
      const byFirst = engine.fires.filter(({ node }) => node === "node-1").map(({ at }) => at)
      const bySecond = engine.fires.filter(({ node }) => node === "node-2").map(({ at }) => at)
      expect(Math.max(...byFirst)).toBeLessThan(lastRenewalBefore + leaseMs - marginMs)
      expect(Math.min(...bySecond)).toBeGreaterThanOrEqual(Math.max(...byFirst) + marginMs - 100)
      expect(new Set(engine.fires.map(({ timerId }) => timerId)).size).toBe(150)
      expect(engine.fires.length).toBe(150)
      expect(epochs(engine)).toEqual([2, 2, 2, 2])
    })

  engineTest(
    "starts nothing more before its lease could be taken: failing",
    options,
    stopsInTime((engine) => engine.faults.fail("renew", { times: Number.POSITIVE_INFINITY })),
  )

  engineTest(
    "starts nothing more before its lease could be taken: hanging",
    options,
    stopsInTime((engine) => engine.faults.holdCall("renew", { times: Number.POSITIVE_INFINITY })),
  )

  engineTest("continues when renewals succeed again in time", options, (engine) =>
    Effect.gen(function* () {
      yield* engine.startNode("node-2")
      yield* createMany(engine, 15_000)
      const end = engine.faults.fail("renew", { times: Number.POSITIVE_INFINITY })
      yield* engine.advance(4_600)
      end()
      yield* engine.advance(20_000)
      expect(engine.fires.length).toBe(150)
      expect(engine.fires.every(({ node }) => node === "node-1")).toBe(true)
      expect(epochs(engine)).toEqual([1, 1, 1, 1])
    }),
  )

  engineTest("that lost its shards changes nothing by a late write, and says so", options, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang()
      const second = yield* engine.startNode("node-2")
      yield* engine.create({ timerId: "slow" })
      yield* engine.still
      const renewals = engine.faults.holdCall("renew", { times: Number.POSITIVE_INFINITY })
      yield* engine.advance(12_000)
      expect(second.engine.status().ownedShards).toBe(shards)
      // The first node still believes that it owns the shards.
      expect(engine.node.engine.status().ownedShards).toBe(shards)
      const before = engine.database.tally
      const refusal = yield* Effect.flip(engine.create({ timerId: "late", inMs: 60_000 }))
      expect(refusal._tag).toBe("NoOwner")
      expect(yield* engine.metric("timer_fenced_writes_total")).toBe(1)
      expect(engine.database.tally).toEqual(before)
      // The next owner repeated the attempt, with the same fireId.
      expect(engine.firesOf("slow").map(({ node, epoch }) => [node, epoch])).toEqual([
        ["node-1", 1],
        ["node-2", 2],
      ])
      expect(new Set(engine.firesOf("slow").map(({ fireId }) => fireId)).size).toBe(1)
      yield* hanging.endAll(delivered)
      yield* renewals.release
      yield* engine.advance(2_000)
      expect(engine.stored("slow").last).toMatchObject({ state: "delivered", attempts: 1 })
      expect(engine.database.tally.delivered).toBe(1)
      expect(engine.logs.some((line) => line.includes("was taken over by another process"))).toBe(true)
      expect(engine.node.engine.status()).toMatchObject({ ownedShards: 0, isWaiting: true })
    }),
  )

  engineTest("claims again when the other node is gone, under an even higher epoch", options, (engine) =>
    Effect.gen(function* () {
      const second = yield* engine.startNode("node-2")
      const end = engine.faults.fail("renew", { times: Number.POSITIVE_INFINITY })
      yield* engine.advance(12_000)
      end()
      yield* engine.advance(2_000)
      yield* second.kill
      yield* engine.advance(7_000)
      expect(epochs(engine)).toEqual([3, 3, 3, 3])
      yield* engine.create({ timerId: "a", inMs: 100 })
      yield* engine.advance(100)
      expect(engine.fires.map(({ node, epoch }) => [node, epoch])).toEqual([["node-1", 3]])
    }),
  )
})

engineTest("rows without an owner fire when a node starts", { ...options, isEmpty: true }, (engine) =>
  Effect.gen(function* () {
    applyTo(engine.database, 0, samplePut({ timerId: "a", executeAt: engine.now() - 60_000 }))
    yield* engine.startNode("node-1")
    expect(engine.fires.length).toBe(1)
    expect(yield* engine.rescued).toBe(0)
  }),
)
