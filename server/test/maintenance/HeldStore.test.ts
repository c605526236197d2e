// A store that a command holds, in virtual time. A living owner keeps its shards, a dead one does not, and all shards
// are free afterwards. The command repeats a write until its result is known, within limits.
import { describe, expect, test } from "bun:test"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { WriteAnswer } from "../../src/domain/WriteItem.ts"
import { holdStore } from "../../src/maintenance/HeldStore.ts"
import { ShardLeases } from "../../src/ports/ShardLeases.ts"
import { StoreError, TimerStore } from "../../src/ports/TimerStore.ts"
import { type MemoryDatabase, makeMemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"
import { StoreFaults } from "../../testkit/StoreFaults.ts"
import { at } from "../../testkit/StoreFixture.ts"
import { samplePut, sampleTimer } from "../../testkit/timers.ts"

interface Rig {
  readonly database: MemoryDatabase
  readonly faults: StoreFaults
  /** The nodes that a hold asked to watch. */
  readonly watched: Array<string>
  readonly hold: ReturnType<typeof holdStore<never>>
}

const law = (title: string, body: (rig: Rig) => Effect.Effect<void, unknown, Scope.Scope>): void => {
  test(title, () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const database = makeMemoryDatabase({ shards: 3 })
        const services = Effect.all([TimerStore, ShardLeases])
        const [store, leases] = yield* Effect.provide(services, MemoryStore.over(database))
        const faults = new StoreFaults(store, leases)
        const watched: Array<string> = []
        const hold = holdStore({ store: faults.store, leases: faults.leases, node: "import" }, (nodes) =>
          Effect.sync(() => void watched.push(...nodes)),
        )
        yield* body({ database, faults, watched, hold })
      }).pipe(Effect.scoped, Effect.provide(TestClock.layer())),
    ),
  )
}

const claimAll = ({ leases }: StoreFaults, node: string) =>
  Effect.flatMap(leases.owners, (owners) =>
    Effect.forEach(owners, (lease) =>
      Effect.map(leases.claim(lease, node), (claimed) => claimed ?? { ...lease, epoch: Number.NaN }),
    ),
  )

const owners = ({ shards }: MemoryDatabase) => shards.map(({ node }) => node)
const restoreOf = (timer = sampleTimer()) =>
  ({ kind: "restore", archived: { kind: "pending", timer } }) as const

describe("a hold", () => {
  law("takes free shards at once, renews their leases, and frees them at its end", (rig) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { shards } = yield* Effect.provideService(rig.hold, Scope.Scope, scope)
      expect([shards, rig.watched]).toEqual([3, []])
      expect(owners(rig.database)).toEqual(["import", "import", "import"])
      const before = rig.database.shards.map(({ counter }) => counter)
      yield* TestClock.adjust(1_000)
      for (const [shard, { counter }] of rig.database.shards.entries()) {
        expect(counter).toBeGreaterThan(at(before, shard))
      }
      yield* Scope.close(scope, Exit.void)
      expect(owners(rig.database)).toEqual([undefined, undefined, undefined])
    }),
  )

  law("waits only for the lease time of a silent owner, and says so once", (rig) =>
    Effect.gen(function* () {
      yield* claimAll(rig.faults, "dead")
      const holding = yield* Effect.forkChild(rig.hold)
      yield* TestClock.adjust(4_900)
      expect(owners(rig.database)).toEqual(["dead", "dead", "dead"])
      yield* TestClock.adjust(200)
      yield* Fiber.join(holding)
      expect(owners(rig.database)).toEqual(["import", "import", "import"])
      expect(rig.watched).toEqual(["dead"])
    }),
  )

  law("is refused while an owner lives, and the owner keeps its shards", (rig) =>
    Effect.gen(function* () {
      const held = yield* claimAll(rig.faults, "alive")
      const holding = yield* Effect.forkChild(Effect.flip(rig.hold))
      yield* TestClock.adjust(2_000)
      yield* rig.faults.leases.renew([at(held, 1)])
      yield* TestClock.adjust(500)
      expect(yield* Fiber.join(holding)).toMatchObject({ _tag: "StoreInUse", node: "alive" })
      expect(owners(rig.database)).toEqual(["alive", "alive", "alive"])
    }),
  )

  law("that gets only some shards releases them", (rig) =>
    Effect.gen(function* () {
      const contest = rig.faults.holdCall("claim", { when: ({ shard }) => shard === 2 })
      const holding = yield* Effect.forkChild(Effect.flip(Effect.scoped(rig.hold)))
      yield* contest.reached
      // Another process is faster.
      const state = at(rig.database.shards, 2)
      Object.assign(state, { epoch: state.epoch + 1, node: "quick" })
      yield* contest.release
      expect(yield* Fiber.join(holding)).toMatchObject({ _tag: "StoreInUse" })
      expect(owners(rig.database)).toEqual([undefined, undefined, "quick"])
    }),
  )

  law("of a store that fails to open a shard fails, and releases all shards", (rig) =>
    Effect.gen(function* () {
      rig.faults.fail("open", { when: (shard) => shard === 1 })
      expect(yield* Effect.flip(Effect.scoped(rig.hold))).toMatchObject({ _tag: "StoreError" })
      expect(owners(rig.database)).toEqual([undefined, undefined, undefined])
    }),
  )
})

describe("a write to a held store", () => {
  law("is answered once, though its result was unknown at first", (rig) =>
    Effect.gen(function* () {
      const held = yield* rig.hold
      rig.faults.fail("write")
      rig.faults.failReply("write")
      const answers: Array<WriteAnswer> = []
      const timers = Array.from({ length: 20 }, () => sampleTimer())
      for (const timer of timers) yield* held.write(restoreOf(timer), (answer) => answers.push(answer))
      const flushing = yield* Effect.forkChild(held.flush)
      yield* TestClock.adjust(1_000)
      yield* Fiber.join(flushing)
      expect(answers).toHaveLength(20)
      expect(rig.database.contents()).toHaveLength(20)
    }),
  )

  law("waits while the queue is full, so that memory is bounded", (rig) =>
    Effect.gen(function* () {
      const held = yield* rig.hold
      const gate = rig.faults.holdCall("write", { times: Number.POSITIVE_INFINITY })
      const { batchBytes } = rig.faults.store.limits
      const payload = new Uint8Array(batchBytes / 8)
      let written = 0
      const writing = yield* Effect.forkChild(
        Effect.gen(function* () {
          for (let index = 0; index < 100; index++) {
            yield* held.write(samplePut({ payload }), () => {})
            written++
          }
          yield* held.flush
        }),
      )
      yield* TestClock.adjust(1_000)
      expect(written * payload.byteLength).toBeLessThanOrEqual(4 * batchBytes)
      expect(written).toBeGreaterThan(8)
      yield* gate.release
      yield* Fiber.join(writing)
      expect(rig.database.tally.created).toBe(100)
    }),
  )

  const failing = (isFatal: boolean, message: string) => (rig: Rig) => {
    const write = () => Effect.fail(new StoreError({ message, isFatal }))
    return holdStore(
      { store: { ...rig.faults.store, write }, leases: rig.faults.leases, node: "import" },
      () => Effect.void,
    )
  }

  law("is given up when the store has failed for ten seconds, not before", (rig) =>
    Effect.gen(function* () {
      const held = yield* failing(false, "away")(rig)
      yield* held.write(restoreOf(), () => {})
      const flushing = yield* Effect.forkChild(Effect.flip(held.flush))
      yield* TestClock.adjust(9_900)
      expect(flushing.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(2_000)
      expect(yield* Fiber.join(flushing)).toMatchObject({ _tag: "StoreError", message: "away" })
      expect(yield* Effect.flip(held.write(restoreOf(), () => {}))).toMatchObject({ message: "away" })
    }),
  )

  law("is given up at once when the store fails fatally", (rig) =>
    Effect.gen(function* () {
      const held = yield* failing(true, "broken")(rig)
      yield* held.write(restoreOf(), () => {})
      expect(yield* Effect.flip(held.flush)).toMatchObject({ _tag: "StoreError", message: "broken" })
    }),
  )

  law("is not stored when a service has taken over the store, because of the fence", (rig) =>
    Effect.gen(function* () {
      const held = yield* rig.hold
      yield* claimAll(rig.faults, "node-1")
      yield* held.write(restoreOf(), () => expect.unreachable())
      expect(yield* Effect.flip(held.flush)).toMatchObject({ _tag: "StoreTakenOver" })
      expect(rig.database.contents()).toEqual([])
    }),
  )

  law("fails when a service has taken over the store and a renewal shows it", (rig) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const held = yield* Effect.provideService(rig.hold, Scope.Scope, scope)
      yield* claimAll(rig.faults, "node-1")
      yield* held.flush
      yield* TestClock.adjust(1_000)
      expect(yield* Effect.flip(held.flush)).toMatchObject({ _tag: "StoreTakenOver" })
      yield* Scope.close(scope, Exit.void)
      expect(owners(rig.database)).toEqual(["node-1", "node-1", "node-1"])
    }),
  )
})
