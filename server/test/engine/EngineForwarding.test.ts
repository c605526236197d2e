// Two nodes over one database. For any key, each of the two gives the owner's answer.
import { describe, expect } from "bun:test"
import { Clock, Effect, Fiber } from "effect"
import { keyOf, shardOf } from "../../src/domain/TimerKey.ts"
import { keyOfItem } from "../../src/domain/WriteItem.ts"
import { EngineMetrics } from "../../src/engine/EngineMetrics.ts"
import { makeScheduler } from "../../src/engine/front/Scheduler.ts"
import { Ids } from "../../src/ports/Ids.ts"
import type { CarriedItem } from "../../src/ports/Peers.ts"
import {
  type EngineHarness,
  type EngineNode,
  engineTest,
  type HarnessOptions,
} from "../../testkit/EngineHarness.ts"
import { cancelOf, samplePut } from "../../testkit/timers.ts"

const shards = 8

const twoNodes = (
  title: string,
  body: (engine: EngineHarness, one: EngineNode, two: EngineNode) => Effect.Effect<void, unknown>,
  options: HarnessOptions = {},
) =>
  engineTest(title, { isEmpty: true, areLinked: true, shards, ...options }, (engine) =>
    Effect.gen(function* () {
      const one = yield* engine.startNode("one")
      const two = yield* engine.startNode("two")
      // Waits until the shards are spread over both nodes.
      yield* engine.advance(10_000)
      expect(engine.database.shards.map(({ node }) => node).sort()).toEqual([
        ...Array.from({ length: 4 }, () => "one"),
        ...Array.from({ length: 4 }, () => "two"),
      ])
      yield* body(engine, one, two)
    }),
  )

/** A timer id whose shard the node owns. */
const idOwnedBy = (engine: EngineHarness, node: EngineNode, prefix = ""): string => {
  for (let number = 0; ; number++) {
    const timerId = `${prefix}${number}`
    const { uuid } = keyOf("shop", timerId)
    if (engine.database.shards[shardOf(uuid, shards)]?.node === node.name) return timerId
  }
}

/** Runs the effect while time passes, so that waits inside it end. */
const during = Effect.fnUntraced(function* <A, E>(
  engine: EngineHarness,
  ms: number,
  effect: Effect.Effect<A, E>,
) {
  const fiber = yield* Effect.forkChild(Effect.result(effect))
  yield* engine.advance(ms)
  const result = yield* Fiber.join(fiber)
  return result._tag === "Success" ? result.success : result.failure
})

describe("any node", () => {
  twoNodes(
    "creates, changes, cancels and shows any timer, and it fires once, on its owner",
    (engine, one, two) =>
      Effect.gen(function* () {
        for (const [asked, owner] of [
          [one, two],
          [two, one],
          [one, one],
        ] as const) {
          const timerId = idOwnedBy(engine, owner, asked.name)
          const id = { namespace: "shop", timerId }
          const { scheduler } = asked
          const command = engine.command({ timerId, inMs: 60_000, payload: new TextEncoder().encode("1") })
          const created = yield* scheduler.create(command)
          expect(created.result).toBe("created")
          expect((yield* scheduler.create(command)).result).toBe("unchanged")
          const revision = "timer" in created ? created.timer.revision : 0
          expect(yield* scheduler.update({ ...id, ifRevision: 1, set: {} })).toEqual({
            result: "revisionMismatch",
            revision,
          })
          const executeAt = engine.now() + 1_000
          expect((yield* scheduler.update({ ...id, set: { executeAt } })).result).toBe("changed")
          expect((yield* scheduler.get("shop", timerId))?.state).toBe("pending")
          yield* engine.advance(1_000)
          expect(engine.firesOf(timerId)).toMatchObject([{ node: owner.name, at: executeAt }])
          expect((yield* scheduler.get("shop", timerId))?.state).toBe("delivered")
          expect((yield* scheduler.cancel("shop", timerId, undefined)).result).toBe("alreadyDelivered")
          yield* scheduler.create({ ...command, executeAt: engine.now() + 60_000 })
          expect((yield* scheduler.cancel("shop", timerId, undefined)).result).toBe("cancelled")
          expect((yield* scheduler.update({ ...id, set: {} })).result).toBe("notFound")
          expect(
            (yield* scheduler.schedule({ ...id, executeAt, askedAt: executeAt, spec: command.spec })).result,
          ).toBe("ignored")
        }
        expect(engine.fires.length).toBe(3)
        expect(yield* engine.rescued).toBe(0)
      }),
  )

  twoNodes("a repeated cancel does not end the timer of a later create", (engine, one) =>
    Effect.gen(function* () {
      const timerId = idOwnedBy(engine, one)
      const command = engine.command({ timerId, inMs: 1_000 })
      const cancel = cancelOf(keyOf("shop", timerId))
      const accept = (item: CarriedItem) => one.scheduler.accept([item])
      yield* one.scheduler.create({ ...command, executeAt: engine.now() + 60_000 })
      const cancelled = { kind: "answered", answer: { result: "cancelled" } } as const
      expect(yield* accept(cancel)).toEqual([cancelled])
      yield* one.scheduler.create(command)
      expect(yield* accept({ ...cancel, isRepeat: true })).toEqual([cancelled])
      yield* engine.advance(1_000)
      expect(engine.firesOf(timerId)).toMatchObject([{ at: command.executeAt }])
      expect(yield* engine.rescued).toBe(0)
    }),
  )

  twoNodes("the next owner carries out writes that were not sent when the shard was lost", (engine, one) =>
    Effect.gen(function* () {
      const timerId = idOwnedBy(engine, one)
      const shard = engine.database.shards[shardOf(keyOf("shop", timerId).uuid, shards)]
      if (shard === undefined) throw new Error("unreachable")
      const command = engine.command({ timerId, inMs: 60_000 })
      yield* one.scheduler.create(command)
      const commit = engine.faults.holdCall("write")
      const [replaced, cancelled] = [
        yield* Effect.forkChild(Effect.flip(one.scheduler.create({ ...command, onExisting: "keep" }))),
        yield* Effect.forkChild(one.scheduler.cancel("shop", timerId, undefined)),
      ]
      yield* commit.reached
      // Another node claimed the shard and is gone again.
      shard.epoch++
      shard.node = undefined
      yield* engine.advance(3_000)
      yield* commit.release
      yield* engine.still
      // The write that was sent may have been done. The writes behind it in the queue were certainly not done.
      expect(yield* Fiber.join(replaced)).toMatchObject({ _tag: "NoOwner", mayBeDone: true })
      expect(yield* Fiber.join(cancelled)).toEqual({ result: "cancelled" })
    }),
  )

  twoNodes("many items are answered in order, whichever nodes own them", (engine, one) =>
    Effect.gen(function* () {
      const commands = Array.from({ length: 1_000 }, (_, index) =>
        engine.command({ timerId: `t${index % 500}`, inMs: 60_000 + (index < 500 ? 0 : 1) }),
      )
      const answers = yield* one.scheduler.createMany(commands)
      const told = answers.map((answer) => ("result" in answer ? answer.result : answer._tag))
      expect(told.slice(0, 500).every((result) => result === "created")).toBe(true)
      expect(told.slice(500).every((result) => result === "replaced")).toBe(true)
      const { cancelled } = yield* one.scheduler.cancelMany("shop", {})
      expect(cancelled).toBe(500)
    }),
  )

  twoNodes("shows attempts that run on another, and keeps their timers unchanged", (engine, one, two) =>
    Effect.gen(function* () {
      const timerId = idOwnedBy(engine, two)
      const hanging = engine.hang()
      const command = engine.command({ timerId })
      yield* one.scheduler.create(command)
      yield* engine.advance(10)
      const stateOf = (node: EngineNode) =>
        Effect.map(node.scheduler.get("shop", timerId), (view) => view?.state)
      expect(yield* stateOf(two)).toBe("inFlight")
      expect(yield* stateOf(one)).toBe("inFlight")
      const started = { startedAt: engine.fires[0]?.firedAt }
      expect(yield* one.scheduler.get("shop", timerId)).toMatchObject(started)
      const page = {
        namespace: "shop",
        state: "pending",
        reversed: false,
        includePayload: false,
        limit: 10,
      } as const
      expect((yield* one.scheduler.list(page)).timers.map(({ state }) => state)).toEqual(["inFlight"])
      const again = yield* one.scheduler.create(command)
      if (again.result !== "unchanged") throw new Error(`it is ${again.result}`)
      expect((yield* one.scheduler.viewOf(again.timer)).state).toBe("inFlight")
      const set = { executeAt: engine.now() + 1_000 }
      expect((yield* one.scheduler.update({ namespace: "shop", timerId, set })).result).toBe("inFlight")
      engine.unreachable.add("two")
      // The owner does not answer, so the timer is shown as it is stored.
      expect(yield* stateOf(one)).toBe("pending")
      engine.unreachable.clear()
      expect((yield* one.scheduler.cancel("shop", timerId, undefined)).result).toBe("inFlight")
      yield* hanging.endAll()
    }),
  )
})

describe("a node that is unreachable", () => {
  twoNodes(
    "creates work, and fire once its shards have a new owner; changes are refused",
    (engine, one, two) =>
      Effect.gen(function* () {
        const timerId = idOwnedBy(engine, two)
        yield* two.kill
        const created = yield* during(
          engine,
          100,
          one.scheduler.create(engine.command({ timerId, inMs: 1_000 })),
        )
        expect(created).toMatchObject({ result: "created" })
        expect(yield* during(engine, 100, one.scheduler.cancel("shop", timerId, undefined))).toMatchObject({
          _tag: "NoOwner",
          mayBeDone: false,
        })
        yield* engine.advance(10_000)
        expect(engine.firesOf(timerId).map(({ node }) => node)).toEqual(["one"])
        expect((yield* one.scheduler.cancel("shop", timerId, undefined)).result).toBe("alreadyDelivered")
      }),
  )

  twoNodes(
    "an owner that lives but is unreachable finds timers that were stored without it",
    (engine, one, two) =>
      Effect.gen(function* () {
        const timerId = idOwnedBy(engine, two)
        engine.unreachable.add("two")
        const executeAt = engine.now() + 2_500
        const created = yield* during(
          engine,
          100,
          one.scheduler.create(engine.command({ timerId, executeAt })),
        )
        expect(created).toMatchObject({ result: "created" })
        yield* engine.advance(2_400)
        expect(engine.firesOf(timerId)).toMatchObject([{ node: "two", at: executeAt }])
      }),
  )

  twoNodes(
    "a drain loses no write: either the old owner or the new owner answers each of them",
    (engine, one, two) =>
      Effect.gen(function* () {
        const answers: Array<string> = []
        const draining = yield* Effect.forkChild(two.engine.drain(5_000))
        for (let turn = 0; turn < 60; turn++) {
          const { scheduler } = one
          const write = scheduler.create(engine.command({ timerId: `t${turn}`, inMs: 600_000 }))
          yield* Effect.forkChild(
            Effect.match(write, {
              onSuccess: ({ result }) => answers.push(result),
              onFailure: ({ _tag }) => answers.push(_tag),
            }),
          )
          yield* engine.advance(5)
        }
        yield* engine.advance(5_000)
        yield* Fiber.join(draining)
        expect(answers).toEqual(Array.from({ length: 60 }, () => "created"))
        expect(engine.database.shards.every(({ node }) => node === "one")).toBe(true)
      }),
  )
})

describe("an owner whose store does not answer", () => {
  twoNodes("tells callers in time that the result is unknown", (engine, one, two) =>
    Effect.gen(function* () {
      const timerId = idOwnedBy(engine, one)
      const commits = one.faults.holdCall("write", { times: Number.POSITIVE_INFINITY })
      const { scheduler } = one
      const notKnown = { _tag: "NoOwner", mayBeDone: true }
      const command = engine.command({ timerId, inMs: 600_000 })
      expect(yield* during(engine, 5_500, scheduler.create(command))).toMatchObject(notKnown)
      const set = { executeAt: engine.now() + 1_000 }
      const asked = { namespace: "shop", timerId, set }
      expect(yield* during(engine, 5_500, scheduler.update(asked))).toMatchObject(notKnown)
      expect(yield* during(engine, 5_500, scheduler.cancel("shop", timerId, undefined))).toMatchObject(
        notKnown,
      )
      // In a call with many items, answered items keep their answers.
      const theirs = engine.command({ timerId: idOwnedBy(engine, two), inMs: 600_000 })
      expect(yield* during(engine, 5_500, scheduler.createMany([command, theirs]))).toMatchObject([
        notKnown,
        { result: "created" },
      ])
      yield* commits.release
    }),
  )
})

describe("a write that is forwarded to a node", () => {
  twoNodes("is refused and not carried out if the node does not own it", (engine, one, two) =>
    Effect.gen(function* () {
      const timerId = idOwnedBy(engine, two)
      const mine = idOwnedBy(engine, one)
      const answers = yield* one.scheduler.accept([samplePut({ timerId }), samplePut({ timerId: mine })])
      expect(answers).toMatchObject([
        { kind: "notOwner" },
        { kind: "answered", answer: { result: "created" } },
      ])
      expect(engine.stored(timerId).pending).toBeUndefined()
      expect(yield* one.scheduler.accept([])).toEqual([])
    }),
  )

  for (const [what, leaseMs, told] of [
    ["is settled by the next owner", 1_500, { success: { result: "created" } }],
    ["is unknown if there is none in time", 9_000, { failure: { _tag: "NoOwner", mayBeDone: true } }],
  ] as const) {
    twoNodes(
      `and that the node begins before it loses the shard ${what}`,
      (engine, one, two) =>
        Effect.gen(function* () {
          yield* engine.advance(20_000)
          const timerId = idOwnedBy(engine, two)
          const gate = two.faults.holdReply("write")
          const creating = yield* Effect.forkChild(
            Effect.result(one.scheduler.create(engine.command({ timerId, inMs: 60_000 }))),
          )
          yield* engine.still
          expect(gate.standing()).toBe(1)
          // The write is done. Its answer was not sent.
          yield* two.kill
          yield* engine.advance(5_000)
          expect(yield* Fiber.join(creating)).toMatchObject(told)
          yield* engine.advance(20_000)
          expect((yield* one.scheduler.get("shop", timerId))?.state).toBe("pending")
          expect(engine.database.tally.created).toBe(1)
        }),
      { ownership: { leaseMs, renewEveryMs: 300, marginMs: 300 } },
    )
  }
})

const shortLease: HarnessOptions = { ownership: { leaseMs: 1_500, renewEveryMs: 300, marginMs: 300 } }

describe("a shard that moves under a write", () => {
  engineTest("a write on its way holds back later writes of its key, and no others", {}, (engine) =>
    Effect.gen(function* () {
      const carried: Array<string> = []
      const onTheWay = keyOf("shop", "on its way").uuid
      const { store } = engine.faults
      const scheduler = makeScheduler({
        store,
        own: {
          begin: (_, onAnswer) => onAnswer({ result: "notFound" }),
          put: (_, onAnswer) => onAnswer({ kind: "notOwner" }),
        },
        forwarder: {
          holds: (uuid) => uuid === onTheWay,
          carry: (item, onAnswer) => {
            carried.push(keyOfItem(item).timerId)
            onAnswer({ result: "cancelled" })
          },
        },
        flights: {
          statusesOf: () => Effect.succeed(new Map()),
          statusesHere: () => [],
          statusWhenArmed: () => ({}),
        },
        histograms: { of: () => Effect.die("nobody asks"), countsHere: () => Effect.succeed(undefined) },
        shards: () => undefined,
        wall: { now: () => engine.now() },
        ids: yield* Effect.provide(Ids, Ids.fromRandom),
        metrics: yield* EngineMetrics.make,
        isDraining: () => false,
        clock: yield* Clock.clockWith(Effect.succeed),
        runFork: Effect.runForkWith(yield* Effect.context<never>()),
      })
      expect((yield* scheduler.cancel("shop", "on its way", undefined)).result).toBe("cancelled")
      expect((yield* scheduler.cancel("shop", "other", undefined)).result).toBe("notFound")
      expect(carried).toEqual(["on its way"])
    }),
  )

  twoNodes(
    "a later write of the same key waits behind it, on any node",
    (engine, one, two) =>
      Effect.gen(function* () {
        const timerId = idOwnedBy(engine, two)
        const shard = shardOf(keyOf("shop", timerId).uuid, shards)
        const create = (inMs: number) => one.scheduler.create(engine.command({ timerId, inMs }))
        two.faults.holdReply("write")
        const first = yield* Effect.forkChild(create(60_000))
        yield* engine.still
        yield* two.kill
        while (engine.database.shards[shard]?.node !== "one") yield* engine.advance(10)
        // This node owns the shard now, and the first write has not noticed that yet.
        const second = yield* Effect.forkChild(create(90_000))
        yield* engine.advance(1_000)
        expect([(yield* Fiber.join(first)).result, (yield* Fiber.join(second)).result]).toEqual([
          "created",
          "replaced",
        ])
      }),
    shortLease,
  )

  for (const [what, isReachable, told] of [
    ["is settled by its new owner", true, { success: { result: "created" } }],
    ["is unknown if the new owner is unreachable", false, { failure: { _tag: "NoOwner", mayBeDone: true } }],
  ] as const) {
    twoNodes(
      `a write of its old owner ${what}`,
      (engine, one, two) =>
        Effect.gen(function* () {
          const timerId = idOwnedBy(engine, one)
          // Renewals fail for longer than the lease. Then the node learns that the shard is lost.
          one.faults.fail("renew", { times: 10 })
          if (!isReachable) engine.unreachable.add(two.name)
          one.faults.holdReply("write")
          const creating = yield* Effect.forkChild(
            Effect.result(one.scheduler.create(engine.command({ timerId, inMs: 60_000 }))),
          )
          yield* engine.advance(10_000)
          expect(yield* Fiber.join(creating)).toMatchObject(told)
          expect(engine.stored(timerId).pending).toBeDefined()
          expect(engine.database.tally.created).toBe(1)
        }),
      shortLease,
    )
  }
})
