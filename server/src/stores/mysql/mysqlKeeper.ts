// Commands on the database itself, each on one session. An archive and an examination read in one transaction that sees
// the database as of its beginning.
import { mysqlDocuments } from "@punctual/documents/mysql/mysqlDocuments"
import { literal } from "@punctual/documents/mysql/mysqlText"
import { type SqlRow, sqlRows, wordFaults } from "../sqlRows.ts"
import { keeperOf, type StoreKeeper } from "../storeKeeper.ts"
import { explainedMysql } from "./checkMysql.ts"
import { mysqlLeases } from "./Leases.ts"
import { Session } from "./MysqlSessions.ts"
import { programVersion } from "./migrations/all.ts"
import type { MysqlTarget } from "./mysqlUrl.ts"
import { openDatabase, storedSchema } from "./openDatabase.ts"
import { readClock, readTallies } from "./Reader.ts"
import { lifeColumns, timerColumns, withBodies, withFireId } from "./rows.ts"
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
    owners: mysqlLeases.owners,
    tallies: readTallies,
    sizes: (session) =>
      session.rows(
        `SELECT table_name AS name, (data_length + index_length) + 0e0 AS bytes FROM information_schema.tables
          WHERE table_schema = DATABASE() ORDER BY bytes DESC, name`,
      ),
    faults: (session) => wordFaults((state) => orphanedWords(session, state)),
    clockMs: readClock,
  })

const livesBy = (index: string, condition: string) =>
  `${lifeColumns}, h.shard, %payload FROM history AS h FORCE INDEX (${index}) WHERE ${condition} AND`

const orders = {
  pending: ["namespace", "timer_id"],
  history: ["id"],
  dead: ["finished_at", "id"],
} as const

const selects = {
  pending: `${timerColumns}, t.shard, %payload FROM timers AS t FORCE INDEX (timers_by_id) ${withBodies} WHERE`,
  history: livesBy("PRIMARY", "h.state <> 'dead'"),
  dead: livesBy("history_prunable", "h.state = 'dead'"),
} as const

const rows = sqlRows<Session>({
  begin: (session) =>
    session.run(["START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT 1 FROM shards LIMIT 1"]),
  orders,
  read: async (session, part, after, limit, withPayload) => {
    const place = orders[part].map((column) => `${part === "pending" ? "t" : "h"}.${column}`)
    const found = await session.rows<SqlRow>(
      `SELECT ${selects[part].replace("%payload", withPayload ? "payload" : "NULL AS payload")}
        ${afterSql(place, after.map(literal), false)} ORDER BY ${place.join(", ")} LIMIT ${limit}`,
    )
    return found.map(withFireId)
  },
})

const owners = {
  pending: "timers AS r FORCE INDEX (timers_by_id) WHERE TRUE",
  dead: "history AS r FORCE INDEX (history_by_id) WHERE r.state = 'dead'",
} as const

const orphanedWords = async (session: Session, state: keyof typeof owners): Promise<number> => {
  const [found] = await session.rows<{ readonly count: number }>(
    `SELECT COUNT(*) AS count FROM lookups AS l WHERE l.state = '${state}' AND NOT EXISTS (SELECT 1 FROM ${owners[state]}
      AND r.namespace = l.namespace AND r.timer_id = l.timer_id AND r.fire_id = l.fire_id)`,
  )
  return found?.count ?? 0
}
