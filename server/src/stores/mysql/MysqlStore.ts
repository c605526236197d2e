// A store in a database of MySQL, MariaDB or TiDB that several nodes share. Commits.ts, looks.ts, Reader.ts and Leases.ts
// do the work of a call. sessionStore.ts runs the calls.
import type { Documents } from "@punctual/documents/Documents"
import { mysqlDocuments } from "@punctual/documents/mysql/mysqlDocuments"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { Effect, Layer, Schema } from "effect"
import type { ShardLeases } from "../../ports/ShardLeases.ts"
import type { ShardStorage } from "../../ports/ShardStorage.ts"
import type { StoreClock } from "../../ports/StoreClock.ts"
import type { TimerStore } from "../../ports/TimerStore.ts"
import { KeyCheck } from "../KeyCheck.ts"
import { defaultSessions, type SessionWork, sessionStore } from "../sessionStore.ts"
import { commitAll, insertNew, prune } from "./Commits.ts"
import { describeMysqlError, isFatal, isTransient } from "./failures.ts"
import { mysqlLeases } from "./Leases.ts"
import { lookAt } from "./looks.ts"
import { type Session, sessionsTo } from "./MysqlSessions.ts"
import type { MysqlTarget } from "./mysqlUrl.ts"
import { openDatabase } from "./openDatabase.ts"
import {
  readClock,
  readCount,
  readCountByTime,
  readDue,
  readHeads,
  readNames,
  readScan,
  readTally,
} from "./Reader.ts"

export interface MysqlStoreOptions {
  readonly target: MysqlTarget
  /** Fixed when the store is created. */
  readonly shards: number
  /** The maximum, at least 4. */
  readonly connections?: number
  /** Called once when the store can no longer be trusted. The process should end. */
  readonly onFatal?: (message: string) => void
}

/** Why the store could not be opened, in a sentence that says what to do. */
export class MysqlOpenError extends Schema.TaggedError<MysqlOpenError>()("MysqlOpenError", {
  reason: Schema.String,
  message: Schema.String,
}) {}

/** The limits of one write. Payloads are sent as hexadecimal digits; see `packetBytes` in openDatabase.ts. */
const writeLimits = {
  batchItems: 1_000,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  shardsTogether: Number.MAX_SAFE_INTEGER,
} as const

export const MysqlStore = {
  layer: (
    options: MysqlStoreOptions,
  ): Layer.Layer<TimerStore | ShardStorage | ShardLeases | Documents | StoreClock, MysqlOpenError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const { target, shards, connections, onFatal } = options
        yield* opening(() => openDatabase(target, shards))
        return yield* sessionStore({
          writing: sessionsTo(target, "writing"),
          reading: sessionsTo(target, "reading"),
          work: makeWork(),
          shards,
          limits: writeLimits,
          sessions: connections ?? defaultSessions,
          isFatal,
          isTransient,
          describe: describeMysqlError,
          ...(onFatal === undefined ? {} : { onFatal }),
        })
      }),
    ),
} as const

export const opening = <A>(open: () => Promise<A>): Effect.Effect<A, MysqlOpenError> =>
  Effect.tryPromise({
    try: open,
    catch: (error) =>
      new MysqlOpenError({
        reason: error instanceof DatabaseFailure ? error.reason : "failed",
        message: error instanceof DatabaseFailure ? error.message : describeMysqlError(error),
      }),
  })

const makeWork = (): SessionWork<Session> => {
  const keyCheck = new KeyCheck()
  return {
    storage: {
      look: lookAt,
      commit: (session, commits) => commitAll(session, commits, keyCheck),
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
    leases: mysqlLeases,
    documents: mysqlDocuments,
    clockMs: readClock,
  }
}
