// A program waits until no other process uses a store that nodes can share. While it waits, it takes nothing from
// others.
import { expect, test } from "bun:test"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { untilAlone } from "../../src/inprocess/untilAlone.ts"
import { Ids } from "../../src/ports/Ids.ts"
import { ShardLeases } from "../../src/ports/ShardLeases.ts"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"

const leaseMs = 5_000
const member = { node: "other", address: "http://other", isLeaving: false }

interface Rig {
  readonly leases: ShardLeases["Service"]
  /** Lets time pass. The other node raises its beat each second while it lives. */
  readonly pass: (seconds: number, lives: boolean) => Effect.Effect<void, unknown>
  readonly hasPassed: () => boolean
}

const waiting = (
  before: Effect.Effect<void, unknown, ShardLeases>,
  body: (rig: Rig) => Effect.Effect<void, unknown>,
) =>
  Effect.gen(function* () {
    const leases = yield* ShardLeases
    yield* before
    const fiber = yield* Effect.forkChild(untilAlone(leases, "me", leaseMs))
    yield* TestClock.adjust(1)
    yield* body({
      leases,
      hasPassed: () => fiber.pollUnsafe() !== undefined,
      pass: (seconds, lives) =>
        Effect.gen(function* () {
          for (let second = 0; second < seconds; second++) {
            if (lives) yield* leases.announce(member)
            yield* TestClock.adjust(1_000)
          }
        }),
    })
    yield* Fiber.interrupt(fiber)
  }).pipe(
    Effect.scoped,
    Effect.provide(MemoryStore.layer({ shards: 2 }).pipe(Layer.provide(Ids.system))),
    Effect.provide(TestClock.layer()),
    Effect.runPromise,
  )

const announced = Effect.flatMap(ShardLeases, (leases) => leases.announce(member))

test("a store without users is free at once", () =>
  waiting(Effect.void, ({ hasPassed, leases }) =>
    Effect.gen(function* () {
      expect(hasPassed()).toBe(true)
      expect(yield* leases.members).toEqual([])
    }),
  ))

test("a living node is waited for as long as it lives, and nothing is taken from it", () =>
  waiting(announced, ({ hasPassed, leases, pass }) =>
    Effect.gen(function* () {
      yield* pass(60, true)
      expect(hasPassed()).toBe(false)
      expect((yield* leases.members).map(({ node }) => node)).toEqual(["other"])
      expect((yield* leases.owners).map(({ epoch, node }) => [epoch, node])).toEqual([
        [0, undefined],
        [0, undefined],
      ])
      yield* leases.retire("other")
      yield* pass(1, false)
      expect(hasPassed()).toBe(true)
    }),
  ))

test("a node that is silent for the lease time is dead", () =>
  waiting(announced, ({ hasPassed, pass }) =>
    Effect.gen(function* () {
      yield* pass(3, true)
      yield* pass(4, false)
      expect(hasPassed()).toBe(false)
      yield* pass(2, false)
      expect(hasPassed()).toBe(true)
    }),
  ))
