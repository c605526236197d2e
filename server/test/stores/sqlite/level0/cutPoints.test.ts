// What a kill or a power cut leaves at any moment of a run with merges: every answered write is there, each pending timer
// is once in each order, and the merge that was under way ends as it would have.
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { beginning } from "../../../../src/domain/DueOrder.ts"
import type { Timer } from "../../../../src/domain/Timer.ts"
import { Lookup } from "../../../../src/stores/sqlite/Lookup.ts"
import { faultsOfOrders } from "../../../../src/stores/sqlite/level0/faultsOfOrders.ts"
import { Merge } from "../../../../src/stores/sqlite/level0/Merge.ts"
import { openOrders } from "../../../../src/stores/sqlite/level0/openOrders.ts"
import { idsOfReader } from "../../../../src/stores/sqlite/level0/pendingIds.ts"
import { ReaderOrders } from "../../../../src/stores/sqlite/level0/ReaderOrders.ts"
import { RunMoves } from "../../../../src/stores/sqlite/level0/RunMoves.ts"
import { smallRuns } from "../../../../src/stores/sqlite/level0/Runs.ts"
import { Reader } from "../../../../src/stores/sqlite/Reader.ts"
import { unpackHeads } from "../../../../src/stores/sqlite/timerWire.ts"
import { recordedShards } from "../../../../testkit/cuts/recordedPlan.ts"
import { runsOf, timeLimitMsOf } from "../../../../testkit/effort.ts"
import {
  type Cut,
  frameEnds,
  makeCut,
  type RecordedRun,
  recordRun,
} from "../../../../testkit/RecordedStore.ts"
import { SeededRandom } from "../../../../testkit/SeededRandom.ts"

const calls = 250

test(
  "after a kill or a power cut at any moment of a merge, nothing is lost and nothing appears twice",
  () => {
    const random = new SeededRandom()
    const folder = mkdtempSync(join(tmpdir(), "punctual-cuts-"))
    try {
      const run = recordRun(folder, random, calls)
      const ends = frameEnds(run.log)
      for (let count = runsOf(500); count > 0; count--) {
        const cut = randomCut(run, ends, random)
        const path = join(folder, `cut-${count}.db`)
        makeCut(path, run, cut)
        expect({ seed: random.seed, cut, found: foundAt(path, run, cut) }).toEqual({
          seed: random.seed,
          cut,
          found: "as acknowledged",
        })
        for (const ending of ["", "-wal", "-shm"]) rmSync(`${path}${ending}`, { force: true })
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
  timeLimitMsOf(120_000),
)

/** Half of the cuts are within a frame. Some leave out a part that no fsync had reached, some meet a checkpoint. */
const randomCut = (run: RecordedRun, ends: ReadonlyArray<number>, random: SeededRandom): Cut => {
  const end = ends[random.below(ends.length)] ?? 0
  const logBytes = random.below(2) === 0 ? end : end - random.below(4_000)
  const synced = lastAcknowledged(run, logBytes).logBytes
  switch (random.below(3)) {
    case 0:
      return logBytes - synced < 512
        ? { logBytes }
        : { logBytes, hole: synced + random.below(logBytes - synced) }
    case 1: {
      const movable = ends.filter((frame) => frame <= synced).length
      const movedPages = new Set(Array.from({ length: random.below(20) }, () => random.below(movable + 1)))
      return { logBytes, movedPages: new Set([...movedPages].filter((frame) => frame < movable)) }
    }
    default:
      return { logBytes }
  }
}

const lastAcknowledged = (run: RecordedRun, logBytes: number): RecordedRun["acknowledged"][number] => {
  const last = run.acknowledged.findLast((call) => call.logBytes <= logBytes)
  if (last === undefined) throw new Error("the run begins with an empty log")
  return last
}

const foundAt = (path: string, run: RecordedRun, cut: Cut): string => {
  const { pending } = lastAcknowledged(run, cut.logBytes)
  const next = run.acknowledged.find((call) => call.logBytes > cut.logBytes)?.pending ?? pending
  using database = new Database(path)
  const orders = openOrders(database, path)
  const readerOrders = new ReaderOrders(database, { isReadOnly: false })
  const reader = new Reader(readerOrders, new Lookup(database, idsOfReader(readerOrders)))
  const keys = new Map([...pending, ...next])
  const first = differences(reader, readerOrders, keys, [pending, next])
  if (first !== undefined) return `after the start: ${first}`
  const merge = new Merge(orders, smallRuns)
  merge.finish()
  const left = database.query("SELECT count(*) FROM journal").values()[0]?.[0]
  if (left !== 0) return `the journal has ${left} rows after the merge`
  // The files are thrown away.
  database.run("PRAGMA synchronous = OFF")
  const second = differences(reader, readerOrders, keys, [pending, next])
  if (second !== undefined) return `after the merge: ${second}`
  const runMoves = new RunMoves(orders, smallRuns)
  while (runMoves.slice(5) !== undefined) {}
  return differences(reader, readerOrders, keys, [pending, next]) ?? "as acknowledged"
}

/** The call that was under way is there or not. */
const differences = (
  reader: Reader,
  orders: ReaderOrders,
  keys: ReadonlyMap<string, Timer>,
  [before, after]: readonly [ReadonlyMap<string, Timer>, ReadonlyMap<string, Timer>],
): string | undefined => {
  const faults = orders.atOneInstant(() => faultsOfOrders(orders))
  if (faults.length > 0) return faults.join("; ")
  const heads = Array.from({ length: recordedShards }, (_, shard) =>
    unpackHeads(
      reader.dueHeads({
        shard,
        exclusiveAfter: beginning,
        inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
        limit: 10_000,
      }),
    ),
  ).flat()
  const byId = new Map(heads.map((head) => [head.timerId, head]))
  if (byId.size !== heads.length) return "a timer is twice in the order of due times"
  for (const id of new Set([...keys.keys(), ...byId.keys()])) {
    const head = byId.get(id)
    const isSame = (timer: Timer | undefined) =>
      timer?.fireId === head?.fireId && timer?.fireAt === head?.fireAt
    if (!isSame(before.get(id)) && !isSame(after.get(id))) {
      return `${id} is at ${head?.fireAt}, and was at ${before.get(id)?.fireAt}, then ${after.get(id)?.fireAt}`
    }
  }
  return undefined
}
