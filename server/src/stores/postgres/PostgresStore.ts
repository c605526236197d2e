// The default store of a cluster: a schema in a PostgreSQL database that several nodes share. Commits.ts, looks.ts,
// Reader.ts and Leases.ts do the work of a call. sessionStore.ts runs the calls.

import { postgresDocuments } from "@punctual/documents/postgres/postgresDocuments"
import { describeError } from "@punctual/sql/errorCodes"
import { Effect, Layer } from "effect"
import { KeyCheck } from "../KeyCheck.ts"
import { opening, type ServerOpening } from "../openingStores.ts"
import type { ServerWork } from "../serverStore.ts"
import { sessionStore } from "../sessionStore.ts"
import { commitAll, insertNew, prune } from "./Commits.ts"
import { connectionsTo } from "./connectionTo.ts"
import { isFatal, isTransient } from "./failures.ts"
import { postgresLeases } from "./Leases.ts"
import { writeLimits } from "./limits.ts"
import { lookAt } from "./looks.ts"
import { readNames } from "./namespaceNames.ts"
import { openDatabase } from "./openDatabase.ts"
import { readClock, readCount, readCountByTime, readDue, readHeads, readScan, readTallies } from "./Reader.ts"

export interface PostgresStoreOptions extends ServerOpening {
  /** postgres://user:password@host:5432/database?schema=punctual */
  readonly url: string
}

export const PostgresStore = {
  layer: ({ url, shards, connections, onFatal }: PostgresStoreOptions) =>
    Layer.effectContext(
      Effect.gen(function* () {
        const { place, warnings } = yield* opening(
          () => openDatabase(url, shards),
          (error) => new Error(String(error)),
        )
        for (const warning of warnings) yield* Effect.logWarning(warning)
        return yield* sessionStore<Bun.SQL>({
          writing: connectionsTo(place),
          reading: connectionsTo(place),
          work: makeWork(),
          shards,
          limits: writeLimits,
          connections,
          rules: { isFatal, isTransient, describe: describeError },
          onFatal,
        })
      }),
    ),
} as const

const makeWork = (): ServerWork<Bun.SQL> => {
  const keyCheck = new KeyCheck()
  return {
    storage: {
      look: lookAt,
      commit: (sql, commits) => commitAll(sql, commits, keyCheck),
      insertNew,
      due: readDue,
      dueHeads: readHeads,
      scan: readScan,
      count: readCount,
      countByTime: readCountByTime,
      namespaces: readNames,
      prune,
    },
    tallies: readTallies,
    leases: postgresLeases,
    documents: postgresDocuments,
    clockMs: readClock,
  }
}
