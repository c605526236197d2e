// Examines a database: counts by shard with the stored sums, overdue timers, dead letters, and the sizes of its tables.
// All of this happens in one transaction that sees the database as of its beginning.
import { mysqlDocuments } from "@punctual/documents/mysql/mysqlDocuments"
import { literal } from "@punctual/documents/mysql/mysqlText"
import { emptyTally, type Tally } from "../../domain/Decision.ts"
import { settingsKind } from "../../engine/namespaces/SettingsRecords.ts"
import {
  type ExamineOptions,
  namedMost,
  type OverdueTimer,
  type ShardReport,
  type StoreReport,
} from "../../ports/StoreReport.ts"
import { logOfText } from "../AttemptLogText.ts"
import { addedColumns } from "../addedValues.ts"
import { readClockOffset } from "../clockOffset.ts"
import { type ExaminedRow, RowExamination } from "../RowExamination.ts"
import { SettingsExamination } from "../SettingsExamination.ts"
import type { Session } from "./MysqlSessions.ts"
import { programVersion } from "./migrations/all.ts"
import { readClock } from "./Reader.ts"
import { keyColumns, numberColumn, textColumn, withBodies } from "./rows.ts"
import { afterSql } from "./scans.ts"

export const examineDatabase = async (
  session: Session,
  store: string,
  schemaVersion: number,
  options: ExamineOptions,
  nowMs: () => number,
): Promise<StoreReport> => {
  const clockOffsetMs = await readClockOffset(() => readClock(session), nowMs)
  await session.run(["START TRANSACTION WITH CONSISTENT SNAPSHOT"])
  try {
    const settings = new SettingsExamination()
    const limit = SettingsExamination.pageItems
    while (
      settings.take(await mysqlDocuments.changesAfter(session, settingsKind, settings.version, limit))
    ) {}
    const { pause, unreadable, ...found } = settings.found
    const timers = await examineRows(session, "timers")
    const lives = await examineRows(session, "lives")
    return {
      store,
      schemaVersion,
      programVersion,
      shards: await shardsIn(session),
      overdue: await overdueIn(
        session,
        pause === undefined ? options.overdueBeforeMs : options.overdueBeforeMsIfPaused,
      ),
      deadByNamespace: await rowsOf(
        session,
        `SELECT ${textColumn("h", "namespace")}, COUNT(*) AS count FROM history AS h WHERE h.state = 'dead'
          GROUP BY h.namespace ORDER BY count DESC, h.namespace LIMIT ${namedMost}`,
      ),
      sizes: await rowsOf(
        session,
        `SELECT table_name AS name, (data_length + index_length) + 0e0 AS bytes FROM information_schema.tables
          WHERE table_schema = DATABASE() ORDER BY bytes DESC, name`,
      ),
      integrity: "notChecked",
      faults: [...(await wordFaults(session)), ...timers.faults, ...lives.faults],
      targets: timers.targets,
      clockOffsetMs,
      ...(pause === undefined ? {} : { pause }),
      ...found,
      unreadable: [...unreadable, ...timers.found, ...lives.found],
    }
  } finally {
    await session.run(["ROLLBACK"])
  }
}

const rowsOf = async <Row>(session: Session, text: string): Promise<ReadonlyArray<Row>> => {
  const [rows = []] = await session.run<Row>([text])
  return rows
}

const tallyNames = Object.keys(emptyTally) as ReadonlyArray<keyof Tally>

interface ShardRow extends Tally {
  readonly shard: number
  readonly epoch: number
  readonly node: string | null
}

interface CountRow {
  readonly shard: number
  readonly state: keyof ShardReport["rows"]
  readonly count: number
}

const shardsIn = async (session: Session): Promise<ReadonlyArray<ShardReport>> => {
  const sums = tallyNames.map((name) => numberColumn("s", name)).join(", ")
  const shards = await rowsOf<ShardRow>(
    session,
    `SELECT s.shard, ${numberColumn("s", "epoch")}, l.node, ${sums} FROM shards AS s JOIN leases AS l
      ON l.shard = s.shard ORDER BY s.shard`,
  )
  const counts = await rowsOf<CountRow>(
    session,
    `SELECT shard, 'pending' AS state, COUNT(*) AS count FROM timers GROUP BY shard
      UNION ALL SELECT shard, state, COUNT(*) FROM history GROUP BY shard, state`,
  )
  const byShard = new Map(
    shards.map(({ shard }) => [shard, { pending: 0, delivered: 0, cancelled: 0, dead: 0 }]),
  )
  for (const { shard, state, count } of counts) {
    const rows = byShard.get(shard)
    if (rows !== undefined) rows[state] = count
  }
  return shards.map(({ shard, epoch, node, ...tally }) => ({
    shard,
    epoch,
    ...(node === null ? {} : { node }),
    tally,
    rows: byShard.get(shard) ?? { pending: 0, delivered: 0, cancelled: 0, dead: 0 },
  }))
}

interface OverdueRow {
  readonly namespace: string
  readonly timer_id: string
  readonly fire_at: number
  readonly attempts: number
  readonly last_attempt: string | null
}

const overdueIn = async (session: Session, beforeMs: number): Promise<StoreReport["overdue"]> => {
  const overdue = `FROM timers AS t WHERE t.fire_at < ${literal(beforeMs)}`
  const counts = await rowsOf<{ readonly count: number }>(session, `SELECT COUNT(*) AS count ${overdue}`)
  const worst = await rowsOf<OverdueRow>(
    session,
    `SELECT ${keyColumns("t")}, ${numberColumn("t", "fire_at")}, t.attempts, t.last_attempt ${overdue}
      ORDER BY t.fire_at, t.fire_id LIMIT ${namedMost}`,
  )
  return { count: counts[0]?.count ?? 0, worst: worst.map(overdueOf) }
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

const examinedColumns = (alias: string, spec: string): string =>
  [
    keyColumns(alias),
    spec,
    `${alias}.last_attempt`,
    ...addedColumns.map((column) => `${alias}.${column}`),
  ].join(", ")

/** In the order of an index. The last columns are the position of a row. */
const examined = {
  timers: {
    select: `SELECT ${examinedColumns("t", "b.spec")} FROM timers AS t FORCE INDEX (timers_by_id) ${withBodies}`,
    place: ["t.namespace", "t.timer_id"],
    first: ["", ""],
    key: (row: ExaminedRow) => [row.namespace, row.timer_id],
  },
  lives: {
    select: `SELECT ${examinedColumns("h", "h.spec")}, ${numberColumn("h", "id")} FROM history AS h`,
    place: ["h.id"],
    first: [0],
    key: (row: ExaminedRow & { readonly id: number }) => [row.id],
  },
} as const

const examineRows = async (session: Session, what: "timers" | "lives"): Promise<RowExamination> => {
  const { select, place, first, key } = examined[what]
  const examination = new RowExamination(what)
  let after: ReadonlyArray<string | number> | undefined = first
  while (after !== undefined) {
    const page: ReadonlyArray<ExaminedRow & { readonly id: number }> = await rowsOf(
      session,
      `${select} WHERE ${afterSql(place, after.map(literal), false)} ORDER BY ${place.join(", ")}
        LIMIT ${RowExamination.pageItems}`,
    )
    for (const row of page) examination.take(row)
    const last = page.at(-1)
    after = last !== undefined && page.length === RowExamination.pageItems ? key(last) : undefined
  }
  return examination
}

/**
 * Words of pending timers and of dead letters are written and removed together with their rows. So a word without its
 * row is a fault. Pruning removes words of history and the lives in separate steps, so those are not checked.
 */
const wordFaults = async (session: Session): Promise<ReadonlyArray<string>> => {
  const faults: Array<string> = []
  for (const [state, rows] of [
    ["pending", "timers AS r FORCE INDEX (timers_by_id) WHERE TRUE"],
    ["dead", "history AS r FORCE INDEX (history_by_id) WHERE r.state = 'dead'"],
  ]) {
    const found = await rowsOf<{ readonly count: number }>(
      session,
      `SELECT COUNT(*) AS count FROM lookups AS l WHERE l.state = '${state}' AND NOT EXISTS (SELECT 1 FROM ${rows}
        AND r.namespace = l.namespace AND r.timer_id = l.timer_id AND r.fire_id = l.fire_id)`,
    )
    const count = found[0]?.count ?? 0
    if (count > 0)
      faults.push(`${count} ${count === 1 ? "word belongs" : "words belong"} to no ${state} timer`)
  }
  return faults
}
