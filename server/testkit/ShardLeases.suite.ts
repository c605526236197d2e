// The laws of the ShardLeases port, as one suite that every adapter runs.
import { describe, expect } from "bun:test"
import { Effect } from "effect"
import { ShardLeases } from "../src/ports/ShardLeases.ts"
import { TimerStore } from "../src/ports/TimerStore.ts"
import { at, lawsOf, type StoreFixture } from "./StoreFixture.ts"
import { samplePut } from "./timers.ts"

export const shardLeasesSuite = (fixture: StoreFixture): void => {
  describe(`ShardLeases: ${fixture.name}`, () => {
    const law = lawsOf(fixture)

    law("a new store has all shards in order, and all are free", () =>
      Effect.gen(function* () {
        const owners = yield* (yield* ShardLeases).owners
        expect(owners.map(({ shard }) => shard)).toEqual([0, 1, 2, 3])
        expect(owners.every(({ node }) => node === undefined)).toBe(true)
      }),
    )

    law("a claim raises the epoch, names its node and does not change other shards", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const before = yield* leases.owners
        const claimed = yield* leases.claim(at(before, 2), "a")
        expect(claimed).toMatchObject({ shard: 2, node: "a" })
        expect(claimed?.epoch).toBeGreaterThan(at(before, 2).epoch)
        const after = yield* leases.owners
        expect(after[2]).toEqual(claimed)
        expect(after.filter(({ shard }) => shard !== 2)).toEqual(before.filter(({ shard }) => shard !== 2))
      }),
    )

    law("when several claims name the same epoch and counter, exactly one succeeds", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const expected = at(yield* leases.owners, 0)
        const nodes = ["a", "b", "c", "d"]
        const claims = yield* Effect.forEach(nodes, (node) => leases.claim(expected, node), {
          concurrency: "unbounded",
        })
        const won = claims.filter((claim) => claim !== undefined)
        expect(won).toHaveLength(1)
        expect((yield* leases.owners)[0]).toEqual(at(won, 0))
      }),
    )

    law("a renewal raises the counter, so a claim that names an older counter fails", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const held = yield* leases.claim(at(yield* leases.owners, 1), "a")
        if (held === undefined) throw new Error("the shard was free")
        const watched = at(yield* leases.owners, 1)
        expect(yield* leases.renew([held])).toEqual([{ foreign: 0 }])
        const renewed = at(yield* leases.owners, 1)
        expect(renewed.counter).toBeGreaterThan(watched.counter)
        expect(renewed.epoch).toBe(watched.epoch)
        expect(yield* leases.claim(watched, "b")).toBeUndefined()
        expect((yield* leases.claim(renewed, "b"))?.node).toBe("b")
      }),
    )

    law("after a claim, renewals and releases under an older epoch change nothing", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const old = yield* leases.claim(at(yield* leases.owners, 0), "a")
        if (old === undefined) throw new Error("the shard was free")
        const held = yield* leases.claim(old, "b")
        expect(yield* leases.renew([old, { shard: 3, epoch: 99 }])).toEqual([undefined, undefined])
        yield* leases.release(old.shard, old.epoch)
        expect((yield* leases.owners)[0]).toEqual(held as NonNullable<typeof held>)
      }),
    )

    law("a release frees the shard and keeps its epoch, and the shard can be claimed again", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const held = yield* leases.claim(at(yield* leases.owners, 0), "a")
        if (held === undefined) throw new Error("the shard was free")
        yield* leases.release(held.shard, held.epoch)
        const free = at(yield* leases.owners, 0)
        expect(free.node).toBeUndefined()
        expect(free.epoch).toBe(held.epoch)
        expect(yield* leases.renew([held])).toEqual([undefined])
        expect((yield* leases.claim(free, "b"))?.epoch).toBeGreaterThan(held.epoch)
      }),
    )

    law("renewals are answered in order, with the counter of unfenced inserts", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const store = yield* TimerStore
        const owners = yield* leases.owners
        const held = yield* Effect.forEach(owners, (lease) => leases.claim(lease, "a"))
        yield* store.insertIfAbsent(2, [samplePut(), samplePut()])
        yield* store.insertIfAbsent(2, [samplePut()])
        yield* store.insertIfAbsent(1, [])
        const asked = [...held].reverse().flatMap((lease) => lease ?? [])
        const answers = yield* leases.renew(asked)
        const inserts = fixture.insertsSkipped === undefined ? 2 : 0
        expect(answers).toEqual([{ foreign: 0 }, { foreign: inserts }, { foreign: 0 }, { foreign: 0 }])
        expect(yield* leases.renew([])).toEqual([])
      }),
    )

    law("members come in the order of their names, each with its announced address", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        expect(yield* leases.members).toEqual([])
        for (const node of ["b", "é", "a", "B"]) {
          yield* leases.announce({ node, address: `${node}:1`, isLeaving: false })
        }
        const members = yield* leases.members
        expect(members.map(({ node, address }) => [node, address])).toEqual([
          ["B", "B:1"],
          ["a", "a:1"],
          ["b", "b:1"],
          ["é", "é:1"],
        ])
      }),
    )

    law("each announcement raises the beat of its own node only", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        yield* leases.announce({ node: "a", address: "a:1", isLeaving: false })
        yield* leases.announce({ node: "b", address: "b:1", isLeaving: false })
        const before = yield* leases.members
        yield* leases.announce({ node: "a", address: "a:2", isLeaving: true })
        const after = yield* leases.members
        expect(after[0]).toMatchObject({ node: "a", address: "a:2", isLeaving: true })
        expect(at(after, 0).beat).toBeGreaterThan(at(before, 0).beat)
        expect(at(after, 1)).toEqual(at(before, 1))
      }),
    )

    law("a retired node is no member, keeps its leases, and joins again when it announces itself", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        yield* leases.announce({ node: "a", address: "a:1", isLeaving: true })
        yield* leases.announce({ node: "b", address: "b:1", isLeaving: false })
        const held = yield* leases.claim(at(yield* leases.owners, 0), "a")
        yield* leases.retire("a")
        yield* leases.retire("never here")
        expect((yield* leases.members).map(({ node }) => node)).toEqual(["b"])
        expect(at(yield* leases.owners, 0).epoch).toBe(held?.epoch ?? Number.NaN)
        expect(at(yield* leases.owners, 0).node).toBe("a")
        yield* leases.announce({ node: "a", address: "a:2", isLeaving: false })
        expect(at(yield* leases.members, 0)).toMatchObject({ node: "a", address: "a:2", isLeaving: false })
      }),
    )

    law("a silent node is removed only with the beat and the process that were seen", () =>
      Effect.gen(function* () {
        const leases = yield* ShardLeases
        const announce = leases.announce({ node: "a", address: "a:1", isLeaving: false })
        yield* announce
        const seen = at(yield* leases.members, 0)
        yield* leases.retireSilent({ ...seen, process: "elsewhere|1|2" })
        yield* announce
        yield* leases.retireSilent(seen)
        const [member] = yield* leases.members
        expect(member).toEqual({ ...seen, beat: seen.beat + 1 })
        yield* leases.retireSilent({ ...seen, beat: seen.beat + 1 })
        expect(yield* leases.members).toEqual([])
      }),
    )
  })
}
