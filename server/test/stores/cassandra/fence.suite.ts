// The fence between the commits of a shard's owner and the claim of the next owner. The old owner is held at the worst
// place: after it has written the bodies of its commit, and before its conditional batch.
import { describe, expect, test } from "bun:test"
import { type Effect, ManagedRuntime } from "effect"
import { nothingKnown } from "../../../src/domain/Decision.ts"
import { decide } from "../../../src/domain/decide.ts"
import type { Put } from "../../../src/domain/WriteItem.ts"
import type { Commit, CommitAnswer } from "../../../src/ports/ShardStorage.ts"
import { Commits } from "../../../src/stores/cassandra/Commits.ts"
import { Fences } from "../../../src/stores/cassandra/Fences.ts"
import { Keys } from "../../../src/stores/cassandra/Keys.ts"
import type { BatchSession } from "../../../src/stores/cassandra/Session.ts"
import { keyChangeOf } from "../../../src/stores/keyChangeOf.ts"
import type { CassandraServer } from "../../../testkit/CassandraServer.ts"
import { cassandraLayer, sessionOn } from "../../../testkit/cassandra.ts"
import { at, owned } from "../../../testkit/StoreFixture.ts"
import { cancelOf, samplePut } from "../../../testkit/timers.ts"

/** The commit of a create of an unused key. */
const commitOf = (put: Put, epoch: number, number: number): Commit => {
  const change = keyChangeOf(put, decide(put, nothingKnown), nothingKnown)
  return { shard: 0, epoch, number, changes: change === undefined ? [] : [change] }
}

const stored: CommitAnswer = { result: "committed", missed: [], refused: [] }

export const fenceTests = (server: () => CassandraServer): void =>
  describe("the fence of a shard in Cassandra", () => {
    /** An owner of one shard, and commits of the same owner that wait before their batch until they are let go. */
    const setUp = async () => {
      const url = server().newUrl()
      const runtime = ManagedRuntime.make(cassandraLayer(url, 1))
      const { store, leases, epochs, batchOf } = await runtime.runPromise(owned)
      const session = await sessionOn(url)
      const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const held: BatchSession = {
        store: session.store,
        rows: (...call) => session.rows(...call),
        batch: async (statements, options) => {
          if (options?.isConditional) {
            reached.resolve()
            await gate.promise
          }
          return session.batch(statements, options)
        },
      }
      const parts = { session: held, fences: new Fences(held), keys: new Keys(held, 1) }
      return {
        store,
        leases,
        batchOf,
        epoch: at(epochs, 0),
        held: new Commits(parts, undefined, () => {}),
        reached: reached.promise,
        letGo: gate.resolve,
        run: <A, E>(effect: Effect.Effect<A, E, never>) => runtime.runPromise(effect),
        [Symbol.asyncDispose]: async () => {
          await session.close()
          await runtime.dispose()
        },
      }
    }

    test("a frozen owner that wakes up after a claim changes nothing", async () => {
      await using rig = await setUp()
      const { store, leases, epoch } = rig
      const put = samplePut({ timerId: "contended", payload: new Uint8Array([1]) })
      const frozen = rig.held.commit(commitOf(put, epoch, 1))
      await rig.reached
      expect((await rig.run(leases.claim(at(await rig.run(leases.owners), 0), "node-2")))?.epoch).toBe(
        epoch + 1,
      )
      const other = samplePut({ timerId: "contended", payload: new Uint8Array([2]) })
      const batch = { shard: 0, epoch: epoch + 1, items: [other] }
      expect(await rig.run(store.write([batch]))).toMatchObject([{ result: "written" }])
      const tally = await rig.run(store.tally)
      rig.letGo()
      expect(await frozen).toEqual({ result: "ownershipLost" })
      expect((await rig.run(store.find(put.timer))).pending).toEqual(other.timer)
      expect(await rig.run(store.tally)).toEqual(tally)
    })

    test("a commit that was given up and arrives late changes nothing after a later one", async () => {
      await using rig = await setUp()
      const { store, epoch, batchOf } = rig
      const put = samplePut()
      const late = rig.held.commit(commitOf(put, epoch, 1))
      await rig.reached
      // The owner numbers these commits 1 and 2.
      await rig.run(store.write([batchOf(0, [put])]))
      await rig.run(store.write([batchOf(0, [cancelOf(put.timer)])]))
      rig.letGo()
      expect(await late).toEqual({ result: "overtaken" })
      expect((await rig.run(store.find(put.timer))).pending).toBeUndefined()
    })

    test("a commit whose result was unknown, but which arrived, is found by the next commit", async () => {
      await using rig = await setUp()
      const { store, epoch, batchOf } = rig
      const put = samplePut()
      // The owner does not know of this commit, as if its answer had been lost.
      rig.letGo()
      expect(await rig.held.commit(commitOf(put, epoch, 1))).toEqual(stored)
      const other = samplePut()
      await rig.run(store.write([batchOf(0, [samplePut()])])).catch(() => {})
      expect(await rig.run(store.write([batchOf(0, [put, other])]))).toMatchObject([
        { result: "written", answers: [{ result: "created" }, { result: "created" }] },
      ])
      const tally = await rig.run(store.tally)
      expect(
        (
          await rig.run(
            store.due({
              shard: 0,
              exclusiveAfter: { fireAt: -1, fireId: "00000000-0000-0000-0000-000000000000" },
              inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
              limit: 10,
            }),
          )
        ).timers,
      ).toHaveLength(tally.created)
    })
  })
