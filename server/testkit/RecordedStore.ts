// A run of the SQLite store whose log is never moved into the file. So the file and a part of its log are what a kill
// or a power cut leaves at any moment of the run, and each of these states can be made again.
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Timer } from "../src/domain/Timer.ts"
import { shardOf } from "../src/domain/TimerKey.ts"
import { keyOfItem, type WriteItem } from "../src/domain/WriteItem.ts"
import { Lookup } from "../src/stores/sqlite/Lookup.ts"
import { Merge } from "../src/stores/sqlite/level0/Merge.ts"
import { openOrders } from "../src/stores/sqlite/level0/openOrders.ts"
import { idsOfWriter } from "../src/stores/sqlite/level0/pendingIds.ts"
import { RunMoves } from "../src/stores/sqlite/level0/RunMoves.ts"
import { smallRuns } from "../src/stores/sqlite/level0/Runs.ts"
import { openForWriting } from "../src/stores/sqlite/openDatabase.ts"
import { Writer } from "../src/stores/sqlite/Writer.ts"
import { PlannedWrites } from "./cuts/PlannedWrites.ts"
import { recordedShards } from "./cuts/recordedPlan.ts"
import type { SeededRandom } from "./SeededRandom.ts"

/** What was pending when a call was answered, and how long the log was. */
export interface Acknowledged {
  readonly logBytes: number
  readonly pending: ReadonlyMap<string, Timer>
}

export interface RecordedRun {
  readonly file: Uint8Array
  readonly log: Uint8Array
  readonly acknowledged: ReadonlyArray<Acknowledged>
}

/** Writes with merges at random moments. */
export const recordRun = (folder: string, random: SeededRandom, calls: number): RecordedRun => {
  const path = join(folder, "recorded.db")
  const { database, lock } = openForWriting({ path, shards: recordedShards })
  const orders = openOrders(database, path)
  const writer = new Writer(orders, new Lookup(database, idsOfWriter(orders)))
  const merge = new Merge(orders, smallRuns)
  const runMoves = new RunMoves(orders, smallRuns)
  database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  const file = readFileSync(path)
  const planned = new PlannedWrites(random, 1)
  const acknowledged: Array<Acknowledged> = [{ logBytes: 0, pending: new Map() }]
  for (let call = 0; call < calls; call++) {
    for (const item of planned.next()) write(writer, item)
    const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
    acknowledged.push({ logBytes, pending: planned.state.pending })
    mergeALittle(merge, random)
    moveALittle(runMoves, random)
  }
  const log = readFileSync(`${path}-wal`)
  database.close()
  lock.close()
  return { file, log, acknowledged }
}

const mergeALittle = (merge: Merge, random: SeededRandom): void => {
  if (random.below(4) === 0) merge.freeze()
  for (let slice = random.below(4); slice > 0; slice--) merge.slice(1 + random.below(5))
}

/** Runs stay for a while, so that entries are removed from them, and more of them are moved together. */
const moveALittle = (runMoves: RunMoves, random: SeededRandom): void => {
  if (!runMoves.isDue) return
  for (let slice = random.below(3); slice > 0; slice--) runMoves.slice(1 + random.below(6))
}

const write = (writer: Writer, item: WriteItem): void => {
  const shard = shardOf(keyOfItem(item).uuid, recordedShards)
  const [answer] = writer.write([{ shard, epoch: 0, items: [item] }]).answers
  if (answer?.result !== "written") throw new Error(`the write was answered with ${answer?.result}`)
}

const headerBytes = 32
const frameHeaderBytes = 24

/** How much of the log is left. Bytes that were written without an fsync can be missing in between. */
export interface Cut {
  readonly logBytes: number
  /** A sector that was not written, although later ones were. */
  readonly hole?: number
  /** Some pages of the log are already in the file, because a checkpoint was running. */
  readonly movedPages?: ReadonlySet<number>
}

/** Makes the files of the store as the cut leaves them. */
export const makeCut = (path: string, { file, log }: RecordedRun, cut: Cut): void => {
  const left = Buffer.from(log.subarray(0, cut.logBytes))
  if (cut.hole !== undefined) left.fill(0, cut.hole, Math.min(cut.hole + 512, left.byteLength))
  writeFileSync(path, cut.movedPages === undefined ? file : withPages(file, left, cut.movedPages))
  writeFileSync(`${path}-wal`, left)
}

export const pageBytesOf = (log: Uint8Array): number =>
  Buffer.from(log.buffer, log.byteOffset).readUInt32BE(8)

/** The ends of all frames of the log. */
export const frameEnds = (log: Uint8Array): ReadonlyArray<number> => {
  const frameBytes = frameHeaderBytes + pageBytesOf(log)
  const frames = Math.floor((log.byteLength - headerBytes) / frameBytes)
  return Array.from({ length: frames }, (_, index) => headerBytes + (index + 1) * frameBytes)
}

const withPages = (file: Uint8Array, log: Buffer, moved: ReadonlySet<number>): Uint8Array => {
  const pageBytes = pageBytesOf(log)
  let result = Buffer.from(file)
  for (const [index, end] of frameEnds(log).entries()) {
    if (!moved.has(index)) continue
    const page = log.readUInt32BE(end - pageBytes - frameHeaderBytes)
    if (result.byteLength < page * pageBytes) {
      result = Buffer.concat([result, Buffer.alloc(page * pageBytes - result.byteLength)])
    }
    log.copy(result, (page - 1) * pageBytes, end - pageBytes, end)
  }
  return result
}
