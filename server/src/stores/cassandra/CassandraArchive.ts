// Reads a whole store for an archive. Cassandra has no transaction that sees many partitions as of one instant. So the
// opening copies everything into a temporary file, and the pages come from that file. While services write, each timer
// is copied as it is at some moment of the opening. A timer that ends or moves meanwhile is copied once: in its later
// state.
import type { DocumentRow } from "@punctual/documents/DocumentRow"
import type { TimerArchive } from "../../ports/TimerArchive.ts"
import type { ArchiveCopy } from "../ArchiveCopy.ts"
import { type Keys, lifeRowOf, type NamedLifeRow, type PendingRead } from "./Keys.ts"
import { endOfPlaces, entryOfLife, keyAt, kinds } from "./places.ts"
import { bytesIn, textIn } from "./rows.ts"
import type { BatchSession, Row } from "./Session.ts"
import { ShardWalk } from "./scans.ts"

const rowsAtOnce = 200
const noBytes = Buffer.alloc(0)

/** Copies all timers and lives. Returns the archive over the copy. */
export const copyStore = async (
  session: BatchSession,
  keys: Keys,
  copy: ArchiveCopy,
  documents: ReadonlyArray<DocumentRow>,
): Promise<TimerArchive> => {
  for (const row of documents) copy.addDocument(row)
  for (let shard = 0; shard < keys.shards; shard++) {
    for await (const rows of rowsOf(session, shard, kinds.key)) await copyPending(keys, copy, rows)
    for await (const rows of rowsOf(session, shard, kinds.life)) {
      for (const life of await keys.livesOf(livesIn(rows), true))
        copy.add({ kind: "ended", life }, entryOfLife(life))
    }
  }
  const now = await keys.rowsOf(copy.takeEnded())
  await copyPending(
    keys,
    copy,
    now.filter((row) => row !== undefined),
  )
  return copy.archive(keys.shards)
}

const copyPending = async (keys: Keys, copy: ArchiveCopy, rows: ReadonlyArray<Row>): Promise<void> => {
  for (const timer of await keys.timersOf(pendingIn(rows), true)) {
    if (timer !== undefined) copy.add({ kind: "pending", timer })
  }
}

/** The pending timers among rows of keys. */
export const pendingIn = (rows: ReadonlyArray<Row>): ReadonlyArray<PendingRead> =>
  rows.flatMap((row) =>
    textIn(row, "state") === undefined ? [] : [{ key: keyAt(bytesIn(row, "place")), row }],
  )

export const livesIn = (rows: ReadonlyArray<Row>): ReadonlyArray<NamedLifeRow> =>
  rows.map((row) => ({ key: keyAt(bytesIn(row, "place")), life: lifeRowOf(row) }))

/** All rows of a kind in a shard, page by page. */
export async function* rowsOf(
  session: BatchSession,
  shard: number,
  kind: number,
): AsyncGenerator<ReadonlyArray<Row>> {
  const range = { kind, inclusiveFrom: noBytes, exclusiveUntil: endOfPlaces(noBytes), isDescending: false }
  const walk = new ShardWalk(session, [shard], range)
  for (;;) {
    const rows = await walk.take(rowsAtOnce)
    if (rows.length > 0) yield rows.map(({ row }) => row)
    if (rows.length < rowsAtOnce) return
  }
}
