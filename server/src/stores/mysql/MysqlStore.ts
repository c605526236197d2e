// A store in a database of MySQL, MariaDB or TiDB that several nodes share. Commits.ts, looks.ts, Reader.ts and Leases.ts
// do the work of a call. sessionStore.ts runs the calls.
import { mysqlDocuments } from "@punctual/documents/mysql/mysqlDocuments"
import { Effect, Layer } from "effect"
import { KeyCheck } from "../KeyCheck.ts"
import { opening, type ServerOpening } from "../openingStores.ts"
import type { ServerWork } from "../serverStore.ts"
import { sessionStore } from "../sessionStore.ts"
import { commitAll, insertNew, prune } from "./Commits.ts"
import { explainedMysql } from "./checkMysql.ts"
import { describeMysqlError, isFatal, isTransient } from "./failures.ts"
import { mysqlLeases } from "./Leases.ts"
import { lookAt } from "./looks.ts"
import { type Session, sessionsTo } from "./MysqlSessions.ts"
import type { MysqlTarget } from "./mysqlUrl.ts"
import { openDatabase } from "./openDatabase.ts"
import { mysqlReads, readClock, readTallies } from "./Reader.ts"

/** The limits of one write. Payloads are sent as hexadecimal digits; see `packetBytes` in checkMysql.ts. */
const limits = {
  batchItems: 1_000,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  shardsTogether: Number.MAX_SAFE_INTEGER,
} as const

export const MysqlStore = {
  layer: ({ target, shards, connections, onFatal }: ServerOpening & { readonly target: MysqlTarget }) =>
    Layer.effectContext(
      Effect.andThen(
        opening(
          () => openDatabase(target, shards),
          (error) => explainedMysql(error, target),
        ),
        sessionStore<Session>({
          writing: sessionsTo(target, "writing"),
          reading: sessionsTo(target, "reading"),
          work: makeWork(),
          shards,
          limits,
          connections,
          rules: { isFatal, isTransient, describe: describeMysqlError },
          onFatal,
        }),
      ),
    ),
} as const

const makeWork = (): ServerWork<Session> => {
  const keyCheck = new KeyCheck()
  return {
    storage: {
      ...mysqlReads,
      look: lookAt,
      commit: (session, commits) => commitAll(session, commits, keyCheck),
      insertNew,
      prune,
    },
    tallies: readTallies,
    leases: mysqlLeases,
    documents: mysqlDocuments,
    clockMs: readClock,
  }
}
