// Examines a file: counts by shard with the stored sums, overdue timers, dead letters, and the structure. All of this
// happens in one read-only transaction, so that counts and sums show the same instant. Meanwhile, pages that it may
// still read stay in the log, which grows if a service writes.
import type { Database } from "bun:sqlite"
import { statSync } from "node:fs"
import type { DocumentRow } from "@punctual/documents/DocumentRow"
import { DocumentTable } from "@punctual/documents/sqlite/DocumentTable"
import type { Tally } from "../../domain/Decision.ts"
import { shardOf } from "../../domain/TimerKey.ts"
import {
  type ExamineOptions,
  faultsMost,
  namedMost,
  type OverdueTimer,
  type ShardReport,
  type ShardRows,
  type StoreReport,
} from "../../ports/StoreReport.ts"
import { logOfText } from "../AttemptLogText.ts"
import { type ExaminedRow, examinedColumns, RowExamination } from "../RowExamination.ts"
import type { DocumentsAfter } from "./calls.ts"
import { hasUnknownFormat } from "./damage.ts"
import { describe, isDamage } from "./failures.ts"
import { faultsOfOrders } from "./level0/faultsOfOrders.ts"
import { ReaderOrders } from "./level0/ReaderOrders.ts"
import { migrations } from "./migrations/all.ts"
import { faultsIn, hasTable, openBeside } from "./openBeside.ts"
import { numberIn } from "./openDatabase.ts"

/** The report of the thread. The thread does not read settings, so it does not know whether all firing is paused. */
export interface FileReport extends Omit<StoreReport, "pause" | "sealed"> {
  readonly overdueIfPaused: StoreReport["overdue"]
}

const noneOverdue: StoreReport["overdue"] = { count: 0, worst: [] }

export const examineFile = (path: string, options: ExamineOptions): FileReport => {
  const { database, schemaVersion } = openBeside(path)
  try {
    // In files of earlier versions they are not compared.
    const orders = hasTable(database, "merging")
      ? new ReaderOrders(database, { isReadOnly: true })
      : undefined
    database.run("BEGIN")
    const shards = numberIn(database, "SELECT count(*) FROM shards")
    const structure = structureOf(database, options.isFull)
    if (hasUnknownFormat(path)) structure.push("its header has an unknown format, so it cannot be written")
    if (orders !== undefined) withFaultsTold(structure, () => structure.push(...faultsOfOrders(orders)))
    const counted = withFaultsTold(structure, () => ({
      shards: shardsOf(database, shards),
      overdue: overdueIn(database, options.overdueBeforeMs),
      overdueIfPaused: overdueIn(database, options.overdueBeforeMsIfPaused),
      deadByNamespace: deadByNamespace(database),
    }))
    const rows = withFaultsTold(structure, () => examineRows(database, schemaVersion === migrations.length))
    structure.push(...(rows?.faults ?? []))
    return {
      store: "sqlite",
      schemaVersion,
      programVersion: migrations.length,
      shards: counted?.shards ?? [],
      sizes: sizesOf(path),
      overdue: counted?.overdue ?? noneOverdue,
      overdueIfPaused: counted?.overdueIfPaused ?? noneOverdue,
      deadByNamespace: counted?.deadByNamespace ?? [],
      unreadable: rows?.unreadable ?? [],
      targets: rows?.targets ?? [],
      integrity: options.isFull ? "full" : "quick",
      faults: structure.slice(0, faultsMost),
    }
  } finally {
    database.close()
  }
}

/**
 * Timers, their bodies and their words are written together. A body or a word without a timer is a fault that SQLite
 * cannot detect. Pruning removes words of history and the lives in separate steps, so those are not checked.
 */
const structureOf = (database: Database, isFull: boolean): Array<string> => {
  const faults: Array<string> = []
  withFaultsTold(faults, () => faults.push(...faultsIn(database, isFull, faultsMost)))
  withFaultsTold(faults, () => {
    const orphans = numberIn(
      database,
      "SELECT count(*) FROM bodies WHERE NOT EXISTS (SELECT 1 FROM timers WHERE timers.id = bodies.id)",
    )
    if (orphans > 0) {
      faults.push(`${orphans} ${orphans === 1 ? "body belongs" : "bodies belong"} to no pending timer`)
    }
    for (const [state, table] of hasTable(database, "lookups") ? wordOwners : []) {
      const words = numberIn(
        database,
        `SELECT count(*) FROM lookups AS l WHERE state = '${state}' AND NOT EXISTS (SELECT 1 FROM ${table} AS r
          WHERE r.namespace = l.namespace AND r.timer_id = l.timer_id AND r.fire_id = l.fire_id)`,
      )
      if (words > 0) {
        faults.push(`${words} ${words === 1 ? "word belongs" : "words belong"} to no ${state} timer`)
      }
    }
  })
  return faults
}

const wordOwners = [
  ["pending", "timers"],
  ["dead", "dead"],
] as const

/** A damaged file fails some of its reads. Then the report contains this fault, and the rest is left out. */
const withFaultsTold = <A>(faults: Array<string>, read: () => A): A | undefined => {
  try {
    return read()
  } catch (error) {
    if (!isDamage(error)) throw error
    faults.push(describe(error))
    return undefined
  }
}

type MutableRows = { -readonly [name in keyof ShardRows]: number }

const shardsOf = (database: Database, shards: number): ReadonlyArray<ShardReport> => {
  const rows = Array.from(
    { length: shards },
    (): MutableRows => ({ pending: 0, delivered: 0, cancelled: 0, dead: 0 }),
  )
  const pending = database.query("SELECT shard, count(*) FROM timers GROUP BY shard")
  for (const [shard, count] of pending.values()) {
    const own = rows[Number(shard)]
    if (own !== undefined) own.pending = Number(count)
  }
  // Finished lives are not stored by shard, so the shard is computed from their keys.
  const lives = (table: string, state: string) =>
    database.query<{ uuid: string; state: keyof MutableRows }, []>(
      `SELECT lower(hex(uuid)) AS uuid, ${state} AS state FROM ${table}`,
    )
  for (const statement of [lives("history", "state"), lives("dead", "'dead'")]) {
    for (const { uuid, state } of statement.iterate()) {
      const own = rows[shardOf(uuid, shards)]
      if (own !== undefined) own[state]++
    }
  }
  const sums = database.query<Tally & { shard: number; epoch: number; node: string | null }, []>(
    `SELECT shard, epoch, node, created, rearmed, replayed, delivered, cancelled, replaced, dead, discarded
     FROM shards JOIN tally USING (shard) ORDER BY shard`,
  )
  return sums.all().map(({ shard, epoch, node, ...tally }) => ({
    shard,
    epoch,
    ...(node === null ? {} : { node }),
    tally,
    rows: rows[shard] ?? { pending: 0, delivered: 0, cancelled: 0, dead: 0 },
  }))
}

interface OverdueRow {
  readonly namespace: string
  readonly timer_id: string
  readonly fire_at: number
  readonly attempts: number
  readonly last_attempt: string | null
}

/** Reads the rows themselves, so that a timer that an order lacks is found as well. */
const overdueIn = (database: Database, beforeMs: number): StoreReport["overdue"] => {
  const isOverdue = "FROM timers WHERE fire_at < ?1"
  const count = database
    .query<{ count: number }, [number]>(`SELECT count(*) AS count ${isOverdue}`)
    .get(beforeMs)
  const worst = database
    .query<OverdueRow, [number]>(
      `SELECT namespace, timer_id, fire_at, attempts, last_attempt ${isOverdue}
       ORDER BY fire_at, fire_id LIMIT ${namedMost}`,
    )
    .all(beforeMs)
  return { count: count?.count ?? 0, worst: worst.map(overdueOf) }
}

const overdueOf = (row: OverdueRow): OverdueTimer => {
  const lastAttempt = row.last_attempt === null ? undefined : logOfText(row.last_attempt)?.at(-1)
  return {
    namespace: row.namespace,
    timerId: row.timer_id,
    fireAt: row.fire_at,
    attempts: row.attempts,
    ...(lastAttempt === undefined ? {} : { lastAttempt }),
  }
}

const deadByNamespace = (database: Database): StoreReport["deadByNamespace"] =>
  database
    .query<{ namespace: string; count: number }, []>(
      `SELECT namespace, count(*) AS count FROM dead INDEXED BY dead_by_end
       GROUP BY namespace ORDER BY count DESC, namespace LIMIT ${namedMost}`,
    )
    .all()

/** Reads row by row, so that only unreadable rows are kept in memory. */
const examineRows = (
  database: Database,
  isOwnSchema: boolean,
): Pick<StoreReport, "unreadable" | "faults" | "targets"> => {
  const examined = (what: "timers" | "lives", sources: ReadonlyArray<string>) => {
    const rows = new RowExamination(what)
    for (const source of sources) {
      const statement = database.query<ExaminedRow, []>(
        `SELECT ${examinedColumns(isOwnSchema, "lower(hex(uuid))")} FROM ${source}`,
      )
      for (const row of statement.iterate()) rows.take(row)
    }
    return rows
  }
  const timers = examined("timers", ["timers LEFT JOIN bodies ON bodies.id = timers.id"])
  const lives = examined("lives", ["history", "dead"])
  return {
    unreadable: [...timers.found, ...lives.found],
    faults: [...timers.faults, ...lives.faults],
    targets: timers.targets,
  }
}

/** A file with an older schema has no documents. */
export const documentsInFile = (
  path: string,
  { kind, version, limit }: DocumentsAfter,
): ReadonlyArray<DocumentRow> => {
  const { database } = openBeside(path)
  try {
    return hasTable(database, "documents")
      ? new DocumentTable(database).changesAfter(kind, version, limit)
      : []
  } finally {
    database.close()
  }
}

const sizesOf = (path: string): StoreReport["sizes"] =>
  [
    ["file", path],
    ["log", `${path}-wal`],
  ].flatMap(([name = "", file = ""]) => {
    const bytes = statSync(file, { throwIfNoEntry: false })?.size
    return bytes === undefined ? [] : [{ name, bytes }]
  })
