// The default store of a cluster: a schema in a PostgreSQL database that several nodes share. Commits.ts, looks.ts,
// Reader.ts and Leases.ts do the work of a call. sessionStore.ts runs the calls.

import type { Documents } from "@punctual/documents/Documents"
import {
  listDocuments,
  readChanges,
  readDocument,
  writeDocument,
} from "@punctual/documents/postgres/postgresDocuments"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { describeError } from "@punctual/sql/errorCodes"
import { Effect, Layer, Schema } from "effect"
import type { ShardLeases } from "../../ports/ShardLeases.ts"
import type { ShardStorage } from "../../ports/ShardStorage.ts"
import type { StoreClock } from "../../ports/StoreClock.ts"
import type { TimerStore } from "../../ports/TimerStore.ts"
import { KeyCheck } from "../KeyCheck.ts"
import { defaultSessions, type SessionWork, sessionStore } from "../sessionStore.ts"
import { commitAll, insertNew, prune } from "./Commits.ts"
import { connectionsTo } from "./connectionTo.ts"
import { isFatal, isTransient } from "./failures.ts"
import {
  announce,
  buryTheDead,
  claim,
  readMembers,
  readOwners,
  release,
  renew,
  retire,
  retireSilent,
} from "./Leases.ts"
import { writeLimits } from "./limits.ts"
import { lookAt } from "./looks.ts"
import { readNames } from "./namespaceNames.ts"
import { openDatabase } from "./openDatabase.ts"
import { readClock, readCount, readCountByTime, readDue, readHeads, readScan, readTally } from "./Reader.ts"

export interface PostgresStoreOptions {
  /** postgres://user:password@host:5432/database?schema=punctual */
  readonly url: string
  /** Fixed when the store is created. */
  readonly shards: number
  /** The maximum, at least 4. */
  readonly connections?: number
  /** Called once when the store can no longer be trusted. The process should end. */
  readonly onFatal?: (message: string) => void
}

/** Why the store could not be opened, in a sentence that says what to do. */
export class PostgresOpenError extends Schema.TaggedError<PostgresOpenError>()("PostgresOpenError", {
  reason: Schema.String,
  message: Schema.String,
}) {}

export const PostgresStore = {
  layer: (
    options: PostgresStoreOptions,
  ): Layer.Layer<TimerStore | ShardStorage | ShardLeases | Documents | StoreClock, PostgresOpenError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const { place, warnings } = yield* opened(options)
        for (const warning of warnings) yield* Effect.logWarning(warning)
        return yield* sessionStore({
          writing: connectionsTo(place),
          reading: connectionsTo(place),
          work: makeWork(),
          shards: options.shards,
          limits: writeLimits,
          sessions: options.connections ?? defaultSessions,
          isFatal,
          isTransient,
          describe: describeError,
          ...(options.onFatal === undefined ? {} : { onFatal: options.onFatal }),
        })
      }),
    ),
} as const

const opened = ({ url, shards }: PostgresStoreOptions) =>
  Effect.tryPromise({
    try: () => openDatabase(url, shards),
    catch: (error) =>
      error instanceof DatabaseFailure
        ? new PostgresOpenError({ reason: error.reason, message: error.message })
        : new PostgresOpenError({ reason: "failed", message: String(error) }),
  })

const makeWork = (): SessionWork<Bun.SQL> => {
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
      tally: readTally,
    },
    leases: {
      owners: readOwners,
      claim,
      renew,
      release,
      announce,
      members: readMembers,
      retire,
      retireSilent,
      buryTheDead,
    },
    documents: {
      write: writeDocument,
      get: readDocument,
      list: listDocuments,
      changesAfter: readChanges,
    },
    clockMs: readClock,
  }
}
