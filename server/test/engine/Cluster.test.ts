// Nodes that share the shards of one store. A node that joins gets its part, and a node that leaves gives its part to
// the others. Timers notice neither. The simulation and the process tests cover the freeze of a whole process.
import { describe, expect } from "bun:test"
import { Effect, Fiber } from "effect"
import { keyOf, shardOf } from "../../src/domain/TimerKey.ts"
import { applyTo } from "../../testkit/applyTo.ts"
import {
  delivered,
  type EngineHarness,
  type EngineNode,
  engineTest,
  type HarnessOptions,
} from "../../testkit/EngineHarness.ts"
import { putOf, sampleTimer } from "../../testkit/timers.ts"

const shards = 6
const leaseMs = 5_000
const lookMs = 250
/** A handover takes a few polls. */
const epsilonMs = 30
const options: HarnessOptions = { shards, ownership: { leaseMs } }
const linked: HarnessOptions = { ...options, areLinked: true }

const ownersOf = ({ database }: EngineHarness) => database.shards.map(({ node }) => node)
const epochsOf = ({ database }: EngineHarness) => database.shards.map(({ epoch }) => epoch)

/** How many shards each node owns in the store, the highest count first. */
const countsOf = (engine: EngineHarness): ReadonlyArray<readonly [string | undefined, number]> => {
  const owners = ownersOf(engine)
  return [...new Set(owners)].sort().map((node) => [node, owners.filter((one) => one === node).length])
}

const shardOfTimer = (timerId: string) => shardOf(keyOf("shop", timerId).uuid, shards)

/** Timers over all shards, one each 10 ms, as if they had been stored long ago. */
const fill = (engine: EngineHarness, overMs: number): number => {
  const count = overMs / 10
  for (let index = 0; index < count; index++) {
    const timer = sampleTimer({ timerId: `t${index}`, executeAt: engine.now() + 10 * index })
    applyTo(engine.database, shardOf(timer.uuid, shards), putOf(timer))
  }
  return count
}

/** From now on, collects every attempt whose shard another node has already claimed. */
const watchEpochs = (engine: EngineHarness): Array<string> => {
  const stale: Array<string> = []
  engine.onFire((fire) => {
    const current = engine.database.shards[shardOfTimer(fire.timerId)]?.epoch
    if (current !== fire.epoch) stale.push(`${fire.timerId}: epoch ${fire.epoch} of ${current}`)
    return Effect.succeed(delivered)
  })
  return stale
}

const mostLateMs = ({ fires }: EngineHarness) => Math.max(...fires.map(({ at, executeAt }) => at - executeAt))

const expectEachOnce = (engine: EngineHarness, count: number) => {
  expect(new Set(engine.fires.map(({ fireId }) => fireId)).size).toBe(count)
  expect(engine.fires.length).toBe(count)
}

/** Starts a second node beside the first and waits until it has its part. */
const pair = Effect.fnUntraced(function* (engine: EngineHarness) {
  const second = yield* engine.startNode("node-2")
  yield* engine.advance(4_000)
  expect(countsOf(engine)).toEqual([
    ["node-1", 3],
    ["node-2", 3],
  ])
  return second
})

const drain = Effect.fnUntraced(function* (engine: EngineHarness, node: EngineNode, withinMs = 10_000) {
  const draining = yield* Effect.forkChild(node.engine.drain(withinMs))
  return Effect.gen(function* () {
    yield* engine.still
    expect(draining.pollUnsafe()).toBeDefined()
    yield* Fiber.join(draining)
  })
})

describe("a node that joins", () => {
  engineTest(
    "gets its part within three seconds, shard by shard, each under one more epoch",
    options,
    (engine) =>
      Effect.gen(function* () {
        yield* engine.startNode("node-2")
        yield* engine.advance(3_000)
        expect(countsOf(engine)).toEqual([
          ["node-1", 3],
          ["node-2", 3],
        ])
        yield* engine.startNode("node-3")
        yield* engine.startNode("node-4")
        yield* engine.advance(3_500)
        expect(
          countsOf(engine)
            .map(([, count]) => count)
            .sort(),
        ).toEqual([1, 1, 2, 2])
        // No shard moves without need: each shard is claimed once, and a moved shard once more.
        expect(epochsOf(engine).reduce((sum, epoch) => sum + epoch)).toBe(6 + 3 + 2)
        const atRest = epochsOf(engine)
        yield* engine.advance(60_000)
        expect(epochsOf(engine)).toEqual(atRest)
      }),
  )

  engineTest(
    "makes no timer late by more than one look at the store, and repeats none",
    { ...options, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const count = fill(engine, 10_000)
        const stale = watchEpochs(engine)
        yield* engine.startNode("node-1")
        yield* engine.advance(1_005)
        yield* engine.startNode("node-2")
        yield* engine.advance(9_500)
        expectEachOnce(engine, count)
        expect(new Set(engine.fires.map(({ node }) => node)).size).toBe(2)
        expect(mostLateMs(engine)).toBeLessThan(lookMs + epsilonMs)
        expect(stale).toEqual([])
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  engineTest(
    "makes the other node log a failure if the handover to it breaks off",
    { ...linked, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        yield* engine.startNode("node-1")
        yield* engine.advance(1_000)
        engine.unreachable.has = () => {
          throw new Error("a bug")
        }
        yield* engine.startNode("node-2")
        yield* engine.advance(5_000)
        expect(engine.logs).toContainEqual(expect.stringContaining("the ownership loop broke"))
      }),
  )

  engineTest(
    "is told which shards it gets, so timers are hardly late at all",
    { ...linked, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const count = fill(engine, 8_000)
        yield* engine.startNode("node-1")
        yield* engine.advance(1_130)
        yield* engine.startNode("node-2")
        yield* engine.advance(7_500)
        expectEachOnce(engine, count)
        expect(new Set(engine.fires.map(({ node }) => node)).size).toBe(2)
        expect(mostLateMs(engine)).toBeLessThan(epsilonMs)
      }),
  )

  engineTest(
    "gets nothing after a single beat, and is forgotten after a minute of silence",
    options,
    (engine) =>
      Effect.gen(function* () {
        yield* engine.advance(2_000)
        engine.database.members.announce({ node: "ghost", address: "ghost", isLeaving: false })
        yield* engine.advance(58_000)
        expect(epochsOf(engine)).toEqual([1, 1, 1, 1, 1, 1])
        expect(engine.node.engine.status().ownedShards).toBe(shards)
        expect(engine.database.members.all().map(({ node }) => node)).toEqual(["ghost", "node-1"])
        yield* engine.advance(5_000)
        expect(engine.database.members.all().map(({ node }) => node)).toEqual(["node-1"])
      }),
  )

  engineTest("waits, and says so, until it gets a shard", options, (engine) =>
    Effect.gen(function* () {
      const second = yield* engine.startNode("node-2")
      expect(second.engine.status()).toMatchObject({
        isWaiting: true,
        ownedShards: 0,
        shardsElsewhere: shards,
      })
      expect(engine.logs).toContain("waiting: node-1 still holds shards that are assigned to this process")
      yield* engine.advance(3_000)
      expect(second.engine.status()).toMatchObject({ isWaiting: false, ownedShards: 3, shardsElsewhere: 3 })
      expect(engine.logs).toContain("the wait is over: this process fires now")
    }),
  )

  engineTest(
    "is not waiting but on standby if there is no shard for it",
    { ...options, shards: 1 },
    (engine) =>
      Effect.gen(function* () {
        const second = yield* engine.startNode("node-2")
        yield* engine.advance(10_000)
        expect(second.engine.status()).toMatchObject({ isWaiting: false, ownedShards: 0, shardsElsewhere: 1 })
        yield* engine.node.kill
        yield* engine.advance(leaseMs + 1_000)
        expect(second.engine.status()).toMatchObject({ isWaiting: false, ownedShards: 1, shardsElsewhere: 0 })
      }),
  )
})

describe("a handover", () => {
  const moving = (engine: EngineHarness) =>
    ownersOf(engine).flatMap((node, shard) => (node === "node-2" ? [shard] : []))

  /** Ids of timers in the shards that node-2 will get. Ordered by name, these are the last ones. */
  const movingIds = ["a", "b", "c", "d", "e", "f", "g", "h"].filter((timerId) => shardOfTimer(timerId) >= 3)

  engineTest("lets short attempts end, and stores their outcomes", options, (engine) =>
    Effect.gen(function* () {
      engine.onFire(() => Effect.as(Effect.sleep(1_500), delivered))
      yield* engine.startNode("node-2")
      yield* engine.advance(1_500)
      for (const timerId of movingIds) yield* engine.create({ timerId })
      yield* engine.advance(8_000)
      expect(moving(engine)).toEqual([3, 4, 5])
      expect(movingIds.length).toBeGreaterThan(2)
      for (const timerId of movingIds) {
        expect(engine.firesOf(timerId).map(({ node }) => node)).toEqual(["node-1"])
        expect(engine.stored(timerId).last).toMatchObject({ state: "delivered", attempts: 1 })
      }
    }),
  )

  engineTest(
    "does not wait for a slow attempt, and the next owner repeats it with the same fireId",
    options,
    (engine) =>
      Effect.gen(function* () {
        const hanging = engine.hang(({ epoch }) => epoch === 1)
        yield* engine.startNode("node-2")
        yield* engine.advance(1_500)
        for (const timerId of movingIds) yield* engine.create({ timerId })
        yield* engine.advance(4_000)
        yield* hanging.endAll()
        yield* engine.advance(1_000)
        for (const timerId of movingIds) {
          const fires = engine.firesOf(timerId)
          expect(fires.map(({ node, epoch, attempt }) => [node, epoch, attempt])).toEqual([
            ["node-1", 1, 1],
            ["node-2", 2, 1],
          ])
          expect(new Set(fires.map(({ fireId }) => fireId)).size).toBe(1)
          expect(engine.stored(timerId).last).toMatchObject({ state: "delivered", attempts: 1 })
        }
        expect(engine.database.tally.delivered).toBe(movingIds.length)
      }),
  )

  engineTest("starts nothing while it waits for running attempts", options, (engine) =>
    Effect.gen(function* () {
      const [slow = "", ...others] = movingIds
      const next = others.find((timerId) => shardOfTimer(timerId) === shardOfTimer(slow)) ?? ""
      engine.onFire(({ timerId }) => Effect.as(Effect.sleep(timerId === slow ? 1_500 : 0), delivered))
      yield* engine.startNode("node-2")
      yield* engine.advance(1_500)
      yield* engine.create({ timerId: slow })
      yield* engine.create({ timerId: next, inMs: 1_000 })
      yield* engine.advance(3_000)
      expect(engine.firesOf(slow).map(({ node }) => node)).toEqual(["node-1"])
      expect(engine.firesOf(next).map(({ node }) => node)).toEqual(["node-2"])
    }),
  )

  engineTest("stores accepted writes before it releases the shard", options, (engine) =>
    Effect.gen(function* () {
      yield* engine.startNode("node-2")
      const commits = engine.faults.holdCall("write", { times: Number.POSITIVE_INFINITY })
      const created = yield* Effect.forEach(movingIds, (timerId) =>
        Effect.forkChild(engine.create({ timerId, inMs: 60_000 })),
      )
      yield* engine.advance(2_500)
      // A shard that has nothing to write may already have moved.
      for (const timerId of movingIds) expect(ownersOf(engine)[shardOfTimer(timerId)]).toBe("node-1")
      yield* commits.release
      yield* engine.advance(500)
      for (const caller of created) expect((yield* Fiber.join(caller)).result).toBe("created")
      expect(moving(engine)).toEqual([3, 4, 5])
      expect(yield* engine.metric("timer_fenced_writes_total")).toBe(0)
    }),
  )

  engineTest("does not wait forever for a store that does not answer", options, (engine) =>
    Effect.gen(function* () {
      const second = yield* engine.startNode("node-2")
      engine.faults.holdCall("write", { times: Number.POSITIVE_INFINITY })
      const created = yield* Effect.forkChild(Effect.flip(engine.create({ timerId: movingIds[0] ?? "" })))
      yield* engine.advance(8_000)
      expect(second.engine.status().ownedShards).toBe(3)
      expect((yield* Fiber.join(created))._tag).toBe("NoOwner")
    }),
  )

  engineTest("runs at most four at once, for any number of shards", { ...options, shards: 12 }, (engine) =>
    Effect.gen(function* () {
      const hanging = engine.hang(({ epoch }) => epoch === 1)
      yield* engine.advance(1_000)
      // One hanging attempt for each shard that moves.
      const byShard = new Map(
        Array.from({ length: 100 }, (_, index) => [
          shardOf(keyOf("shop", `t${index}`).uuid, 12),
          `t${index}`,
        ]),
      )
      for (const [shard, timerId] of byShard) if (shard >= 6) yield* engine.create({ timerId })
      yield* engine.startNode("node-2")
      // Each handover waits two seconds for its attempts.
      yield* engine.advance(4_300)
      expect(moving(engine)).toHaveLength(4)
      yield* engine.advance(2_300)
      expect(moving(engine)).toHaveLength(6)
      yield* hanging.endAll()
    }),
  )

  engineTest("repeats a release that fails", options, (engine) =>
    Effect.gen(function* () {
      engine.faults.fail("release", { times: 3 })
      const second = yield* engine.startNode("node-2")
      yield* engine.advance(3_500)
      expect(second.engine.status().ownedShards).toBe(3)
    }),
  )

  engineTest("forwards writes of the shard to its new owner", linked, (engine) =>
    Effect.gen(function* () {
      const second = yield* pair(engine)
      for (const timerId of ["a", "b", "c", "d", "e", "f"]) {
        yield* engine.node.scheduler.create(engine.command({ timerId, inMs: 100 }))
      }
      yield* engine.advance(200)
      expect(engine.fires.filter(({ node }) => node === "node-2").length).toBeGreaterThan(0)
      expectEachOnce(engine, 6)
      expect(mostLateMs(engine)).toBe(0)
      expect(second.engine.cluster().shards.filter(({ isMine }) => isMine)).toHaveLength(3)
    }),
  )
})

describe("a node that leaves", () => {
  engineTest("drained: releases all shards at once, and is not a member any more", options, (engine) =>
    Effect.gen(function* () {
      yield* pair(engine)
      const ended = yield* drain(engine, engine.node)
      yield* engine.advance(600)
      yield* ended
      expect(countsOf(engine)).toEqual([["node-2", shards]])
      expect(engine.database.members.all().map(({ node }) => node)).toEqual(["node-2"])
    }),
  )

  engineTest(
    "drained: makes no timer late by more than one look at the store, and repeats none",
    { ...options, isEmpty: true },
    (engine) =>
      Effect.gen(function* () {
        const count = fill(engine, 14_000)
        const stale = watchEpochs(engine)
        const first = yield* engine.startNode("node-1")
        yield* engine.startNode("node-2")
        yield* engine.advance(6_005)
        const ended = yield* drain(engine, first)
        yield* engine.advance(1_000)
        yield* ended
        yield* engine.advance(8_000)
        expectEachOnce(engine, count)
        expect(mostLateMs(engine)).toBeLessThan(lookMs + epsilonMs)
        expect(stale).toEqual([])
      }),
  )

  engineTest(
    "drained with a hanging attempt: the other nodes take it over after two seconds",
    options,
    (engine) =>
      Effect.gen(function* () {
        yield* pair(engine)
        const hanging = engine.hang()
        const mine = engine.node.engine
          .cluster()
          .shards.flatMap(({ shard, isMine }) => (isMine ? [shard] : []))
        const timerId = ["a", "b", "c", "d", "e", "f"].find((id) => mine.includes(shardOfTimer(id))) ?? ""
        yield* engine.create({ timerId })
        yield* engine.still
        const ended = yield* drain(engine, engine.node, 10_000)
        yield* engine.advance(2_700)
        yield* ended
        expect(countsOf(engine)).toEqual([["node-2", shards]])
        expect(engine.firesOf(timerId).map(({ node }) => node)).toEqual(["node-1", "node-2"])
        expect(new Set(engine.firesOf(timerId).map(({ fireId }) => fireId)).size).toBe(1)
        yield* hanging.endAll()
      }),
  )

  engineTest("drained together with all others: no node waits for another", options, (engine) =>
    Effect.gen(function* () {
      const second = yield* pair(engine)
      const ended = [yield* drain(engine, engine.node), yield* drain(engine, second)]
      yield* engine.advance(1_500)
      for (const end of ended) yield* end
      expect(engine.database.members.all()).toEqual([])
      expect(countsOf(engine).map(([node]) => node)).toEqual([undefined])
    }),
  )

  engineTest(
    "killed: the other nodes take over its shards after the lease time, not before",
    options,
    (engine) =>
      Effect.gen(function* () {
        yield* pair(engine)
        const third = yield* engine.startNode("node-3")
        yield* engine.advance(4_000)
        expect(countsOf(engine).map(([, count]) => count)).toEqual([2, 2, 2])
        const before = epochsOf(engine)
        const lost = ownersOf(engine).flatMap((node, shard) => (node === "node-3" ? [shard] : []))
        yield* third.kill
        yield* engine.advance(leaseMs - 1_000 - lookMs)
        expect(epochsOf(engine)).toEqual(before)
        yield* engine.advance(1_000 + 3 * lookMs)
        expect(countsOf(engine)).toEqual([
          ["node-1", 3],
          ["node-2", 3],
        ])
        // Only the lost shards have a new owner.
        expect(epochsOf(engine)).toEqual(
          before.map((epoch, shard) => (lost.includes(shard) ? epoch + 1 : epoch)),
        )
      }),
  )

  engineTest("gets its part again, once, when it comes back under its own name", options, (engine) =>
    Effect.gen(function* () {
      const second = yield* pair(engine)
      yield* second.kill
      yield* engine.advance(leaseMs + 1_000)
      expect(countsOf(engine)).toEqual([["node-1", shards]])
      yield* engine.startNode("node-2")
      yield* engine.advance(4_000)
      expect(countsOf(engine)).toEqual([
        ["node-1", 3],
        ["node-2", 3],
      ])
      const atRest = epochsOf(engine)
      yield* engine.advance(20_000)
      expect(epochsOf(engine)).toEqual(atRest)
    }),
  )
})

engineTest("a node that cannot renew is no longer a member: the others take its part", options, (engine) =>
  Effect.gen(function* () {
    const second = yield* pair(engine)
    second.faults.fail("renew", { times: Number.POSITIVE_INFINITY })
    yield* engine.advance(leaseMs + 1_000 + 3 * lookMs)
    expect(countsOf(engine)).toEqual([["node-1", shards]])
  }),
)

describe("a claim", () => {
  engineTest("is repeated at once if its answer was lost", { ...options, isEmpty: true }, (engine) =>
    Effect.gen(function* () {
      yield* engine.startNode("node-1", (faults) => faults.failReply("claim", { times: 3 }))
      yield* engine.advance(300)
      expect(engine.node.engine.status().ownedShards).toBe(shards)
      expect(epochsOf(engine).sort()).toEqual([1, 1, 1, 2, 2, 2])
    }),
  )

  engineTest("that hangs delays no renewal", { ...options, isEmpty: true }, (engine) =>
    Effect.gen(function* () {
      yield* engine.startNode("node-1", (faults) =>
        faults.holdCall("claim", { when: ({ shard }) => shard === 5 }),
      )
      const timerId = ["a", "b", "c", "d"].find((id) => shardOfTimer(id) < 5) ?? ""
      yield* engine.create({ timerId, inMs: 30_000 })
      yield* engine.advance(30_000)
      expect(engine.firesOf(timerId).map(({ at, executeAt }) => at - executeAt)).toEqual([0])
    }),
  )
})

engineTest("an operator sees members, shards and changes of ownership", options, (engine) =>
  Effect.gen(function* () {
    yield* pair(engine)
    const { node, members, shards: seen } = engine.node.engine.cluster()
    expect(node).toBe("node-1")
    expect(members).toMatchObject([
      { node: "node-1", address: "node-1", isLeaving: false, isLive: true },
      { node: "node-2", address: "node-2", isLeaving: false, isLive: true },
    ])
    for (const { beatAgeMs } of members) expect(beatAgeMs).toBeLessThanOrEqual(1_000 + lookMs)
    expect(seen.map(({ shard, owner, isMine, epoch }) => [shard, owner, isMine, epoch])).toEqual(
      ownersOf(engine).map((owner, shard) => [shard, owner, owner === "node-1", owner === "node-1" ? 1 : 2]),
    )
    // In this test both nodes count into one registry.
    expect(yield* engine.metric("timer_ownership_changes_total")).toBe(6 + 3 + 3)
    engine.hang()
    yield* engine.create({ timerId: "a" }).pipe(Effect.ignore)
    yield* engine.advance(700)
    const lags = engine.node.engine.cluster().shards.flatMap(({ lagMs }) => lagMs ?? [])
    expect(Math.max(...lags)).toBe(shardOfTimer("a") < 3 ? 700 : 0)
  }),
)
