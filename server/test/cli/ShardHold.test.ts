// Shards held for the time of a command, in virtual time: whoever lives keeps them, whoever is dead does not, and they
// are free again afterwards.
import { describe, expect, test } from "bun:test"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { type CommandFailed, Output, type OutputClosed } from "../../src/cli/CommandRuntime.ts"
import { holdShards } from "../../src/cli/ShardHold.ts"
import { ShardLeases } from "../../src/ports/ShardLeases.ts"
import { makeMemoryDatabase } from "../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../src/stores/memory/MemoryStore.ts"
import { at } from "../../testkit/StoreFixture.ts"

type Needs = Output | ShardLeases | Scope.Scope

const run = (body: Effect.Effect<void, CommandFailed | OutputClosed | unknown, Needs>) =>
  Effect.runPromise(
    body.pipe(
      Effect.provide(MemoryStore.over(makeMemoryDatabase({ shards: 3 }))),
      Effect.provideService(Output, {
        columns: undefined,
        answer: () => Effect.void,
        remark: () => Effect.void,
        untilStopped: Effect.succeed(Effect.never),
      }),
      Effect.scoped,
      Effect.provide(TestClock.layer()),
    ),
  )

const claimAll = Effect.fnUntraced(function* (node: string) {
  const leases = yield* ShardLeases
  return yield* Effect.forEach(yield* leases.owners, (lease) => leases.claim(lease, node))
})

const ownersNow = Effect.gen(function* () {
  return (yield* (yield* ShardLeases).owners).map(({ node }) => node)
})

describe("a hold", () => {
  test("takes free shards at once, keeps their leases moving, and frees them at its end", () =>
    run(
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const scope = yield* Scope.make()
        const epochs = yield* Effect.provideService(holdShards(leases, "import"), Scope.Scope, scope)
        const before = yield* leases.owners
        expect(before.map(({ epoch, node }) => [epoch, node])).toEqual(
          epochs.map((epoch) => [epoch, "import"]),
        )
        yield* TestClock.adjust(1_000)
        const after = yield* leases.owners
        for (const [shard, lease] of after.entries()) {
          expect(lease.counter).toBeGreaterThan(at(before, shard).counter)
        }
        yield* Scope.close(scope, Exit.void)
        expect(yield* ownersNow).toEqual([undefined, undefined, undefined])
      }),
    ))

  test("waits for the lease time of a holder that is silent, and no longer", () =>
    run(
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        yield* claimAll("dead")
        const holding = yield* Effect.forkChild(holdShards(leases, "import"))
        yield* TestClock.adjust(4_900)
        expect(yield* ownersNow).toEqual(["dead", "dead", "dead"])
        yield* TestClock.adjust(200)
        yield* Fiber.join(holding)
        expect(yield* ownersNow).toEqual(["import", "import", "import"])
      }),
    ))

  test("is refused while a holder lives, which keeps what it has", () =>
    run(
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const held = yield* claimAll("alive")
        const one = at(held, 1)
        if (one === undefined) throw new Error("the shard was free")
        const holding = yield* Effect.forkChild(Effect.flip(holdShards(leases, "import")))
        yield* TestClock.adjust(2_000)
        yield* leases.renew([one])
        yield* TestClock.adjust(500)
        const failure = yield* Fiber.join(holding)
        expect(failure).toMatchObject({ message: expect.stringContaining("alive runs on this store") })
        expect(yield* ownersNow).toEqual(["alive", "alive", "alive"])
      }),
    ))

  test("that gets only some gives them back", () =>
    run(
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const scope = yield* Scope.make()
        const contested: ShardLeases["Service"] = {
          ...leases,
          claim: (lease, node) => (lease.shard === 2 ? Effect.succeed(undefined) : leases.claim(lease, node)),
        }
        const hold = Effect.provideService(holdShards(contested, "import"), Scope.Scope, scope)
        expect(yield* Effect.flip(hold)).toMatchObject({
          message: expect.stringContaining("runs on this store"),
        })
        yield* Scope.close(scope, Exit.void)
        expect(yield* ownersNow).toEqual([undefined, undefined, undefined])
      }),
    ))
})
