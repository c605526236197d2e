// A disk that is full at any step of a commit, a freeze, a slice or the end of a merge or of a move of runs. The step fails as a whole, in the
// file and in memory, and can be repeated when there is room again.
import { expect, test } from "bun:test"
import { codeOf } from "../../../../src/stores/sqlite/failures.ts"
import { Lookup } from "../../../../src/stores/sqlite/Lookup.ts"
import { faultsOfOrders } from "../../../../src/stores/sqlite/level0/faultsOfOrders.ts"
import { mergingOf } from "../../../../src/stores/sqlite/level0/MergeWork.ts"
import { openOrders } from "../../../../src/stores/sqlite/level0/openOrders.ts"
import { idsOfWriter } from "../../../../src/stores/sqlite/level0/pendingIds.ts"
import { ReaderOrders } from "../../../../src/stores/sqlite/level0/ReaderOrders.ts"
import { numberIn, openForWriting } from "../../../../src/stores/sqlite/openDatabase.ts"
import { Writer } from "../../../../src/stores/sqlite/Writer.ts"
import { runsOf } from "../../../../testkit/effort.ts"
import { SeededRandom } from "../../../../testkit/SeededRandom.ts"
import { temporaryFolder } from "../../../../testkit/sqlite.ts"
import { putOf, sampleNow, sampleTimer } from "../../../../testkit/timers.ts"

test("a full disk at any step of a commit or a merge changes nothing, and the step can be repeated", () => {
  const random = new SeededRandom()
  const folder = temporaryFolder()
  const { database, lock } = openForWriting({ path: folder.database, shards: 1 })
  try {
    const orders = openOrders(database, folder.database)
    const lookup = new Lookup(database, idsOfWriter(orders))
    const writer = new Writer(orders, lookup)
    const { merge, runMoves } = mergingOf(orders, 3)
    const readerOrders = new ReaderOrders(database, { isReadOnly: false })
    const stored: Array<ReturnType<typeof sampleTimer>> = []
    let failures = 0
    /** Whether the step was done, with no room or only little room for new pages. */
    const withoutRoom = (step: () => void): boolean => {
      const pages = numberIn(database, "PRAGMA page_count") + random.below(3)
      database.run(`PRAGMA max_page_count = ${pages}`)
      try {
        step()
        return true
      } catch (error) {
        expect(codeOf(error)).toBe("SQLITE_FULL")
        failures++
        return false
      } finally {
        database.run(`PRAGMA max_page_count = ${2 ** 30}`)
      }
    }
    const doneAtLast = (step: () => void): void => {
      if (!withoutRoom(step)) step()
    }
    const rounds = runsOf(60)
    for (let round = 0; round < rounds; round++) {
      const timers = Array.from({ length: 20 }, () =>
        sampleTimer({
          fireAt: sampleNow + random.below(1_000),
          payload: new Uint8Array(random.below(3_000)),
        }),
      )
      doneAtLast(() => writer.write([{ shard: 0, epoch: 0, items: timers.map((timer) => putOf(timer)) }]))
      stored.push(...timers)
      doneAtLast(() => merge.freeze())
      for (let slice = random.below(8); slice > 0; slice--)
        doneAtLast(() => merge.slice(1 + random.below(40)))
      // Runs of some rounds stay.
      for (let slice = runMoves.isDue ? random.below(6) : 0; slice > 0; slice--)
        doneAtLast(() => runMoves.slice(1 + random.below(40)))
    }
    expect(failures).toBeGreaterThan(rounds / 4)
    const checked = () => {
      expect([random.seed, readerOrders.atOneInstant(() => faultsOfOrders(readerOrders))]).toEqual([
        random.seed,
        [],
      ])
      for (const timer of stored) {
        expect(lookup.look({ key: timer, withPayload: false }).pending?.fireId).toBe(timer.fireId)
      }
      expect(numberIn(database, "SELECT count(*) FROM timers")).toBe(stored.length)
    }
    checked()
    merge.finish()
    checked()
    while (runMoves.slice(40) !== undefined) {}
    checked()
  } finally {
    database.close()
    lock.close()
    folder.dispose()
  }
})
