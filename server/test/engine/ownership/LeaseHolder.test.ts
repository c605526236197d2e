// How leases are held, in virtual time. A shard is used only after its claim and its opening. Its lease is renewed from
// the claim on. A shard that is given up is released.
import { describe, expect, test } from "bun:test"
import { Clock, Effect, Fiber, References, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { nanosOf } from "../../../src/engine/ownership/ClusterWatch.ts"
import { defaultLeaseTimes, LeaseHolder } from "../../../src/engine/ownership/LeaseHolder.ts"
import { type Lease, ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { type MemoryDatabase, makeMemoryDatabase } from "../../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { StoreFaults } from "../../../testkit/StoreFaults.ts"
import { at } from "../../../testkit/StoreFixture.ts"

const { leaseMs, marginMs, renewEveryMs } = defaultLeaseTimes

interface Rig {
  readonly database: MemoryDatabase
  readonly faults: StoreFaults
  readonly holder: LeaseHolder
  /** What happened to the shards, in order. */
  readonly told: Array<string>
  /** How long the last reported lease is trusted. */
  readonly trusted: () => bigint
  readonly now: () => bigint
}

const law = (title: string, body: (rig: Rig) => Effect.Effect<void, unknown, Scope.Scope>): void => {
  test(title, () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const database = makeMemoryDatabase({ shards: 2 })
        const services = Effect.all([TimerStore, ShardLeases])
        const [store, leases] = yield* Effect.provide(services, MemoryStore.over(database))
        const faults = new StoreFaults(store, leases)
        const clock = yield* Clock.clockWith(Effect.succeed)
        const told: Array<string> = []
        let trusted = 0n
        const holder = new LeaseHolder("me", defaultLeaseTimes, {
          leases: faults.leases,
          store: faults.store,
          clock,
          use: {
            onHeld: ({ shard, epoch }, untilNanos) =>
              Effect.sync(() => {
                told.push(`holds ${shard} in epoch ${epoch}, opened ${faults.calls("open")}`)
                trusted = untilNanos
              }),
            onRenewed: ({ shard }, untilNanos, foreign) => {
              told.push(`renewed ${shard}, foreign ${foreign}`)
              trusted = untilNanos
            },
            onLost: ({ shard }) => void told.push(`lost ${shard}`),
          },
        })
        const now = () => clock.monotonicTimeNanosUnsafe()
        yield* body({ database, faults, holder, told, trusted: () => trusted, now })
      }).pipe(
        Effect.provideService(References.MinimumLogLevel, "None"),
        Effect.scoped,
        Effect.provide(TestClock.layer()),
      ),
    ),
  )
}

/** The lease as a look shows it, and whether it can be claimed. */
const seen = (holder: LeaseHolder, shard: number) =>
  Effect.map(holder.look, (leases): { readonly lease: Lease; readonly mayClaim: boolean } => {
    const lease = at(leases, shard)
    return { lease, mayClaim: holder.mayClaim(lease) }
  })

const claimed = (holder: LeaseHolder, shard: number) =>
  Effect.flatMap(seen(holder, shard), ({ lease }) => holder.claim(lease))

describe("a claim", () => {
  law(
    "is followed by the opening of the shard, and only then is the shard used",
    ({ holder, faults, told }) =>
      Effect.gen(function* () {
        const opening = faults.holdCall("open")
        const claiming = yield* Effect.forkChild(claimed(holder, 0))
        yield* opening.reached
        expect(told).toEqual([])
        yield* opening.release
        expect(yield* Fiber.join(claiming)).toBe(true)
        expect(told).toEqual(["holds 0 in epoch 1, opened 1"])
        expect((yield* seen(holder, 0)).mayClaim).toBe(false)
      }),
  )

  law(
    "whose opening fails is never used: it is released, and can be claimed again",
    ({ holder, faults, told, database }) =>
      Effect.gen(function* () {
        faults.fail("open")
        expect(yield* Effect.flip(claimed(holder, 0))).toMatchObject({ _tag: "StoreError" })
        expect([told, at(database.shards, 0).node]).toEqual([[], "me"])
        expect((yield* seen(holder, 0)).mayClaim).toBe(false)
        yield* holder.releaseGivenUp
        expect(at(database.shards, 0).node).toBeUndefined()
        expect((yield* seen(holder, 0)).mayClaim).toBe(true)
        expect(yield* claimed(holder, 0)).toBe(true)
        expect(told).toEqual(["holds 0 in epoch 2, opened 2"])
      }),
  )

  law("whose reply was lost can be repeated at once", ({ holder, faults, told }) =>
    Effect.gen(function* () {
      faults.failReply("claim")
      yield* Effect.flip(claimed(holder, 0))
      expect((yield* seen(holder, 0)).mayClaim).toBe(true)
      expect(yield* claimed(holder, 0)).toBe(true)
      expect(told).toEqual(["holds 0 in epoch 2, opened 1"])
    }),
  )

  law("that loses to another node leaves nothing held", ({ holder, faults, told }) =>
    Effect.gen(function* () {
      const { lease } = yield* seen(holder, 0)
      yield* faults.leases.claim(lease, "other")
      expect(yield* holder.claim(lease)).toBe(false)
      expect([told, faults.calls("open")]).toEqual([[], 0])
    }),
  )
})

describe("a shard whose opening takes longer than the lease time", () => {
  law("has its lease renewed, and is trusted from the last renewal on", (rig) =>
    Effect.gen(function* () {
      const { holder, faults, told, database } = rig
      yield* Effect.forkScoped(holder.renewForever())
      const opening = faults.holdCall("open")
      const claiming = yield* Effect.forkChild(claimed(holder, 0))
      yield* opening.reached
      const before = at(database.shards, 0).counter
      yield* TestClock.adjust(leaseMs * 2)
      expect(at(database.shards, 0).counter - before).toBe((leaseMs * 2) / renewEveryMs)
      expect(told).toEqual([])
      yield* opening.release
      yield* Fiber.join(claiming)
      expect(rig.trusted()).toBe(rig.now() + nanosOf(leaseMs - marginMs))
    }),
  )

  law("is not used if another node claims it", ({ holder, faults, told, database }) =>
    Effect.gen(function* () {
      yield* Effect.forkScoped(holder.renewForever())
      const opening = faults.holdCall("open")
      const claiming = yield* Effect.forkChild(claimed(holder, 0))
      yield* opening.reached
      yield* faults.leases.claim(at(yield* faults.leases.owners, 0), "other")
      yield* TestClock.adjust(renewEveryMs)
      yield* opening.release
      expect(yield* Fiber.join(claiming)).toBe(false)
      yield* holder.releaseAll
      expect([told, at(database.shards, 0).node]).toEqual([[], "other"])
    }),
  )
})

describe("a held shard", () => {
  law("is trusted until a margin before its lease could be taken, from the start of a renewal", (rig) =>
    Effect.gen(function* () {
      const { holder, faults, told } = rig
      yield* claimed(holder, 0)
      expect(rig.trusted()).toBe(rig.now() + nanosOf(leaseMs - marginMs))
      yield* Effect.forkScoped(holder.renewForever())
      yield* TestClock.adjust(0)
      const reply = faults.holdReply("renew")
      yield* TestClock.adjust(renewEveryMs)
      const startedNanos = rig.now()
      yield* TestClock.adjust(700)
      yield* reply.release
      yield* TestClock.adjust(0)
      expect(rig.trusted()).toBe(startedNanos + nanosOf(leaseMs - marginMs))
      expect(told.slice(1)).toEqual(["renewed 0, foreign 0", "renewed 0, foreign 0"])
    }),
  )

  law("that another node has claimed is lost, once, and not released", ({ holder, faults, told, database }) =>
    Effect.gen(function* () {
      yield* claimed(holder, 0)
      yield* claimed(holder, 1)
      yield* Effect.forkScoped(holder.renewForever())
      yield* faults.leases.claim(at(yield* faults.leases.owners, 0), "other")
      yield* TestClock.adjust(renewEveryMs * 3)
      expect(told.filter((line) => line.startsWith("lost"))).toEqual(["lost 0"])
      yield* holder.releaseAll
      expect(database.shards.map(({ node }) => node)).toEqual(["other", undefined])
    }),
  )

  law("that was given up is released again until that is confirmed", ({ holder, faults, database }) =>
    Effect.gen(function* () {
      yield* claimed(holder, 0)
      faults.fail("release", { times: 2 })
      yield* holder.releaseAll
      yield* holder.releaseGivenUp
      expect((yield* seen(holder, 0)).mayClaim).toBe(false)
      yield* holder.releaseGivenUp
      expect(at(database.shards, 0).node).toBeUndefined()
      expect((yield* seen(holder, 0)).mayClaim).toBe(true)
    }),
  )

  law("whose release was done, though its reply was lost, is seen as free", ({ holder, faults }) =>
    Effect.gen(function* () {
      yield* claimed(holder, 0)
      faults.failReply("release")
      yield* holder.releaseAll
      expect((yield* seen(holder, 0)).mayClaim).toBe(true)
      yield* holder.releaseGivenUp
      expect(faults.calls("release")).toBe(1)
    }),
  )
})
