// Commands on the database itself, each on one session. An archive and an examination read in one transaction that sees
// the database as of its beginning.
import { mysqlDocuments } from "@punctual/documents/mysql/mysqlDocuments"
import { literal } from "@punctual/documents/mysql/mysqlText"
import { type Tally, tallyNames } from "../../domain/Decision.ts"
import { keyOfColumns, lifeOfColumns, timerOfColumns } from "../columnRows.ts"
import type { PagedRow, PagedRows } from "../pagedRows.ts"
import { keeperOf, type StoreKeeper } from "../storeKeeper.ts"
import { faultOfWords } from "../wordFaults.ts"
import { explainedMysql } from "./checkMysql.ts"
import { Session } from "./MysqlSessions.ts"
import { programVersion } from "./migrations/all.ts"
import type { MysqlTarget } from "./mysqlUrl.ts"
import { openDatabase, storedSchema } from "./openDatabase.ts"
import { mysqlReads } from "./Reader.ts"
import {
  type EndedRow,
  lifeColumns,
  numberColumn,
  type PendingRow,
  timerColumns,
  withBodies,
  withFireId,
} from "./rows.ts"
import { afterSql } from "./scans.ts"

export const mysqlKeeper = (target: MysqlTarget): StoreKeeper =>
  keeperOf<Session>({
    name: target.flavour,
    shown: target.name,
    programVersion,
    connect: async () => new Session(target, "keeping"),
    close: (session) => session.close(),
    explain: (error) => explainedMysql(error, target),
    schema: (session) => storedSchema(session, target),
    migrate: (shards) => openDatabase(target, shards),
    documents: mysqlDocuments,
    rows,
    shards: shardsIn,
    sizes: (session) =>
      session.rows(
        `SELECT table_name AS name, (data_length + index_length) + 0e0 AS bytes FROM information_schema.tables
          WHERE table_schema = DATABASE() ORDER BY bytes DESC, name`,
      ),
    faults: wordFaults,
    clockMs: mysqlReads.clockMs,
  })

interface ShardRow extends Tally {
  readonly shard: number
  readonly epoch: number
  readonly node: string | null
}

const shardsIn = async (session: Session) => {
  const sums = tallyNames.map((name) => numberColumn("s", name)).join(", ")
  const shards = await session.rows<ShardRow>(
    `SELECT s.shard, ${numberColumn("s", "epoch")}, l.node, ${sums} FROM shards AS s JOIN leases AS l
      ON l.shard = s.shard ORDER BY s.shard`,
  )
  return shards.map(({ shard, epoch, node, ...tally }) => ({
    shard,
    epoch,
    ...(node === null ? {} : { node }),
    tally,
  }))
}

type Row = PendingRow & EndedRow & { readonly shard: number }

/** Reads rows in the order of an index, whose columns are `place`. */
const reading =
  (
    select: (payload: string) => string,
    place: ReadonlyArray<string>,
    rowOf: (row: Row) => Omit<PagedRow, "shard">,
  ): PagedRows<Session>["parts"][number]["read"] =>
  async (session, after, limit, withPayload) => {
    const found = await session.rows<Row>(
      `${select(withPayload ? "payload" : "NULL AS payload")} ${afterSql(place, after.map(literal), false)}
        ORDER BY ${place.join(", ")} LIMIT ${limit}`,
    )
    return found.map((row) => ({ ...rowOf(withFireId(row)), shard: row.shard }))
  }

const livesBy = (index: string, condition: string) => (payload: string) =>
  `SELECT ${lifeColumns}, h.shard, ${payload} FROM history AS h FORCE INDEX (${index}) WHERE ${condition} AND`

const lifeAt = (place: (row: Row) => PagedRow["place"]) => (row: Row) => ({
  item: { kind: "ended" as const, life: lifeOfColumns(keyOfColumns(row), row, row.payload) },
  place: place(row),
})

const rows: PagedRows<Session> = {
  begin: (session) =>
    session.run(["START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT 1 FROM shards LIMIT 1"]),
  parts: [
    {
      name: "pending",
      first: ["", ""],
      read: reading(
        (payload) =>
          `SELECT ${timerColumns}, t.shard, ${payload} FROM timers AS t FORCE INDEX (timers_by_id) ${withBodies} WHERE`,
        ["t.namespace", "t.timer_id"],
        (row) => ({
          item: { kind: "pending", timer: timerOfColumns(keyOfColumns(row), row, row.payload) },
          place: [row.namespace, row.timer_id],
        }),
      ),
    },
    {
      name: "history",
      first: [0],
      read: reading(
        livesBy("PRIMARY", "h.state <> 'dead'"),
        ["h.id"],
        lifeAt((row) => [row.id]),
      ),
    },
    {
      name: "dead",
      first: [Number.MIN_SAFE_INTEGER, 0],
      read: reading(
        livesBy("history_prunable", "h.state = 'dead'"),
        ["h.finished_at", "h.id"],
        lifeAt((row) => [row.finished_at, row.id]),
      ),
    },
  ],
}

const wordFaults = async (session: Session): Promise<ReadonlyArray<string>> => {
  const faults: Array<string> = []
  for (const [state = "", owners] of [
    ["pending", "timers AS r FORCE INDEX (timers_by_id) WHERE TRUE"],
    ["dead", "history AS r FORCE INDEX (history_by_id) WHERE r.state = 'dead'"],
  ]) {
    const [found] = await session.rows<{ readonly count: number }>(
      `SELECT COUNT(*) AS count FROM lookups AS l WHERE l.state = '${state}' AND NOT EXISTS (SELECT 1 FROM ${owners}
        AND r.namespace = l.namespace AND r.timer_id = l.timer_id AND r.fire_id = l.fire_id)`,
    )
    faults.push(...faultOfWords(found?.count ?? 0, state))
  }
  return faults
}
