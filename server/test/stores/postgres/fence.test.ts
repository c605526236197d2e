// The fence between the writes of a shard's owner and the claim of the next owner. The later of the two waits for the
// first, and then sees its effect. The test holds transactions open at exactly the points of a race.
import { expect, test } from "bun:test"
import { Effect, ManagedRuntime } from "effect"
import { nothingKnown } from "../../../src/domain/Decision.ts"
import { decide } from "../../../src/domain/decide.ts"
import type { Put } from "../../../src/domain/WriteItem.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { type Commit, type CommitAnswer, ShardStorage } from "../../../src/ports/ShardStorage.ts"
import { KeyCheck } from "../../../src/stores/KeyCheck.ts"
import { keyChangeOf } from "../../../src/stores/keyChangeOf.ts"
import { commitAll } from "../../../src/stores/postgres/Commits.ts"
import { connectionTo } from "../../../src/stores/postgres/connectionTo.ts"
import { functionNamed } from "../../../src/stores/postgres/functions.ts"
import { openDatabase } from "../../../src/stores/postgres/openDatabase.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { at, owned, timerIn } from "../../../testkit/StoreFixture.ts"
import { sampleNow, samplePut } from "../../../testkit/timers.ts"

/** The commit of a create of an unused key. */
const commitOf = (put: Put, epoch: number, number: number): Commit => {
  const change = keyChangeOf(put, decide(put, nothingKnown), nothingKnown)
  return { shard: 0, epoch, number, changes: change === undefined ? [] : [change] }
}

describePostgres("installed", "the fence of a shard", () => {
  const server = serverForTests("installed")

  /** An owner of one shard, its store, and another session whose transactions the test holds. */
  const setUp = async () => {
    const { url } = server().database()
    const runtime = ManagedRuntime.make(PostgresStore.layer({ url, shards: 1 }))
    const { store, leases, epochs, batchOf } = await runtime.runPromise(owned)
    const { place } = await openDatabase(url, 1)
    // Inside a transaction the view of other sessions does not change, so a third session looks.
    const [other, observer] = [connectionTo(place), connectionTo(place)]
    const untilWaiting = (sessions: number) =>
      eventually(`${sessions} sessions wait for a lock`, async () => {
        const rows: ReadonlyArray<unknown> = await observer.unsafe(
          "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
        )
        return rows.length >= sessions ? true : undefined
      })
    return {
      runtime,
      storage: await runtime.runPromise(ShardStorage),
      store,
      leases,
      other,
      batchOf,
      epoch: at(epochs, 0),
      run: <A, E>(effect: Effect.Effect<A, E, never>) => runtime.runPromise(effect),
      /** Sends a call and notes whether it has been answered. */
      send: <A, E>(effect: Effect.Effect<A, E, never>) => {
        const call = { isAnswered: false, answer: runtime.runPromise(effect) }
        const answered = () => {
          call.isAnswered = true
        }
        call.answer.then(answered, answered)
        return call
      },
      untilSomeoneWaits: () => untilWaiting(1),
      untilWaiting,
      [Symbol.asyncDispose]: async () => {
        for (const session of [other, observer]) await session.close({ timeout: 0 })
        await runtime.dispose()
      },
    }
  }

  test("a claim waits for a running write, and after it the old epoch writes nothing", async () => {
    await using rig = await setUp()
    const { store, leases, other, batchOf, epoch } = rig
    const [written, late] = [samplePut(), samplePut()]
    await other.unsafe("BEGIN")
    await commitAll(other, [commitOf(written, epoch, 1)], new KeyCheck())
    const lease = at(await rig.run(leases.owners), 0)
    const claim = rig.send(leases.claim(lease, "node-2"))
    await rig.untilSomeoneWaits()
    expect(claim.isAnswered).toBe(false)
    await other.unsafe("COMMIT")
    expect((await claim.answer)?.epoch).toBe(epoch + 1)
    expect((await rig.run(store.find(written.timer))).pending?.fireId).toBe(written.timer.fireId)
    expect(await rig.run(store.write([batchOf(0, [late])]))).toEqual([{ result: "ownershipLost" }])
    expect((await rig.run(store.find(late.timer))).pending).toBeUndefined()
  })

  test("a write waits for a running claim, and is refused once the claim commits", async () => {
    await using rig = await setUp()
    const { store, leases, other, batchOf, epoch } = rig
    const { counter } = at(await rig.run(leases.owners), 0)
    for (const [end, expected] of [
      ["ROLLBACK", "written"],
      ["COMMIT", "ownershipLost"],
    ] as const) {
      const put = samplePut()
      await other.unsafe("BEGIN")
      await other.unsafe(
        `SELECT * FROM ${functionNamed("claim_shard")}(0, $1::bigint, $2::bigint, 'node-2')`,
        [epoch, counter],
      )
      const write = rig.send(store.write([batchOf(0, [put])]))
      await rig.untilSomeoneWaits()
      expect(write.isAnswered).toBe(false)
      await other.unsafe(end)
      expect((await write.answer).map(({ result }) => result)).toEqual([expected])
      const { pending } = await rig.run(store.find(put.timer))
      expect(pending !== undefined).toBe(expected === "written")
    }
  })

  test("a call that is held at the fence and its repeat store a timer once, in either order", async () => {
    await using rig = await setUp()
    const { store, storage, other, epoch } = rig
    const put = samplePut()
    await other.unsafe("BEGIN")
    await other.unsafe("SELECT FROM shards FOR UPDATE")
    const call = rig.send(storage.commit([commitOf(put, epoch, 1)]))
    await rig.untilWaiting(1)
    const repeat = rig.send(storage.commit([commitOf(put, epoch, 2)]))
    await rig.untilWaiting(2)
    await other.unsafe("COMMIT")
    const stored: CommitAnswer = { result: "committed", missed: [], refused: [] }
    const [first, second] = [at(await call.answer, 0), at(await repeat.answer, 0)]
    if (first.result === "overtaken") expect(second).toEqual(stored)
    else expect([first, second]).toEqual([stored, { result: "committed", missed: [0], refused: [] }])
    expect((await rig.run(store.tally)).created).toBe(1)
    expect((await rig.run(store.find(put.timer))).pending).toEqual(put.timer)
  })

  test("a renewal does not wait for a running write", async () => {
    await using rig = await setUp()
    const { leases, other, epoch } = rig
    await other.unsafe("BEGIN")
    await commitAll(other, [commitOf(samplePut(), epoch, 1)], new KeyCheck())
    const before = at(await rig.run(leases.owners), 0).counter
    expect(await rig.run(leases.renew([{ shard: 0, epoch }]))).toEqual([{ foreign: 0 }])
    expect(at(await rig.run(leases.owners), 0).counter).toBe(before + 1)
    await other.unsafe("ROLLBACK")
  })

  test("a renewal does not wait for a claim of this node that waits for a fence", async () => {
    await using rig = await setUp()
    const { leases, other, epoch } = rig
    await other.unsafe("BEGIN")
    await other.unsafe("SELECT FROM shards FOR UPDATE")
    const claim = rig.send(leases.claim(at(await rig.run(leases.owners), 0), "node-1"))
    await rig.untilSomeoneWaits()
    expect(await rig.run(leases.renew([{ shard: 0, epoch }]))).toEqual([{ foreign: 0 }])
    expect(claim.isAnswered).toBe(false)
    await other.unsafe("ROLLBACK")
    // The counter that the claim names has changed.
    expect(await claim.answer).toBeUndefined()
  })

  test("an unfenced insert waits for the owner's write of the same key, and keeps the owner's timer", async () => {
    await using rig = await setUp()
    const { store, leases, other, epoch } = rig
    const [own, foreign] = [
      samplePut({ timerId: "both" }),
      samplePut({ timerId: "both", fireAt: sampleNow + 9 }),
    ]
    await other.unsafe("BEGIN")
    await commitAll(other, [commitOf(own, epoch, 1)], new KeyCheck())
    const insert = rig.send(store.insertIfAbsent(0, [foreign]))
    await rig.untilSomeoneWaits()
    expect(insert.isAnswered).toBe(false)
    await other.unsafe("COMMIT")
    const answers = await insert.answer
    expect(answers.map(({ result }) => result)).toEqual(["exists"])
    expect(timerIn(answers[0]).fireId).toBe(own.timer.fireId)
    expect(at(await rig.run(leases.owners), 0).foreign).toBe(0)
    expect(await rig.run(store.tally)).toMatchObject({ created: 1 })
  })

  test("a frozen session that holds a fence delays a claim for less than a lease", async () => {
    await using rig = await setUp()
    const { leases, other } = rig
    await other.unsafe("BEGIN")
    await other.unsafe("SELECT FROM shards WHERE shard = 0 FOR UPDATE")
    const startedAt = performance.now()
    const claimed = await rig.run(leases.claim(at(await rig.run(leases.owners), 0), "node-2"))
    expect(claimed?.node).toBe("node-2")
    expect(performance.now() - startedAt).toBeLessThan(4_000)
  })

  test("writes of several nodes over many shards, in any order, never deadlock", async () => {
    const { url } = server().database()
    const shards = 8
    const layer = () => PostgresStore.layer({ url, shards, connections: 6 })
    const [first, second] = [ManagedRuntime.make(layer()), ManagedRuntime.make(layer())]
    try {
      const { store, epochs } = await first.runPromise(owned)
      const stores = [store, (await second.runPromise(owned.pipe(Effect.flatMap(() => owned)))).store]
      const current = await first.runPromise(Effect.flatMap(ShardLeases, (leases) => leases.owners))
      expect(current.map(({ shard }) => shard)).toEqual(epochs.map((_, shard) => shard))
      const rounds = Array.from({ length: 40 }, (_, round) => {
        const order = current.map((_, index) => (index * 3 + round) % shards)
        const batches = (round % 2 === 0 ? order : order.reverse()).map((shard) => ({
          shard,
          epoch: at(current, shard).epoch,
          items: [samplePut()],
        }))
        return Effect.runPromise(at(stores, round % 2).write(batches))
      })
      // Each store numbers its own commits. A commit after a higher number is refused, and no commit fails.
      const results = (await Promise.all(rounds)).map((answers) => answers.map(({ result }) => result))
      expect(new Set(results.flat()).difference(new Set(["written", "overtaken"]))).toEqual(new Set())
      expect(results.flat()).toContain("written")
    } finally {
      await first.dispose()
      await second.dispose()
    }
  })
})
