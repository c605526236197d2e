// Commands on the schema itself. An examination uses one connection and one read-only transaction, while services may
// run. A migration prepares the schema in advance for a service that would do the same when it starts.
import type { Documents } from "@punctual/documents/Documents"
import {
  listDocuments,
  readChanges,
  readDocument,
  writeDocument,
} from "@punctual/documents/postgres/postgresDocuments"
import { newerSchema, searchPathOf } from "@punctual/sql/applyMigrations"
import type { DatabaseTarget } from "@punctual/sql/DatabaseTarget"
import { describeError } from "@punctual/sql/errorCodes"
import { explained } from "@punctual/sql/explained"
import { Effect, type Scope } from "effect"
import type { StoreExamination } from "../../ports/StoreReport.ts"
import type { StoreSchema } from "../../ports/StoreSchema.ts"
import { StoreError } from "../../ports/TimerStore.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import { connectionTo } from "./connectionTo.ts"
import { archiveTimeoutMs } from "./limits.ts"
import { programVersion } from "./migrations/all.ts"
import { noStore, olderSchema, openDatabase, storedShards, timersAt, versionOf } from "./openDatabase.ts"
import { examineSchema } from "./PostgresDoctor.ts"
import { PostgresOpenError } from "./PostgresStore.ts"

export const PostgresKeeper = {
  /** `nowMs` is the clock that is compared with the database's. */
  examination: (
    url: string,
    nowMs: () => number,
  ): Effect.Effect<StoreExamination, PostgresOpenError, Scope.Scope> =>
    Effect.gen(function* () {
      const { target, sql } = yield* connected(url)
      return {
        examine: (options) =>
          calling(target, async () => {
            const version = await knownVersion(sql, target)
            if (version === 0) throw noStore(target)
            return examineSchema(sql, version, options, nowMs)
          }),
      }
    }),

  /** Uses one connection. Services may run meanwhile. */
  documents: (
    url: string,
  ): Effect.Effect<Documents["Service"], PostgresOpenError | StoreError, Scope.Scope> =>
    Effect.gen(function* () {
      // The key must survive a crash of the server, even if the server itself commits asynchronously.
      const { target, sql } = yield* connected(url, { synchronous_commit: "on" })
      yield* calling(target, async () => {
        const version = await knownVersion(sql, target)
        if (version === 0) throw noStore(target)
        if (version < programVersion) throw olderSchema(target, version)
      })
      return storeDocuments({
        write: (asked) => calling(target, () => writeDocument(sql, asked)),
        get: (kind, id) => calling(target, () => readDocument(sql, kind, id)),
        list: (range) => calling(target, () => listDocuments(sql, range)),
        changesAfter: (kind, version, limit) => calling(target, () => readChanges(sql, kind, version, limit)),
      })
    }),

  /** `shards` is used if the store must be created. */
  schema: (url: string, shards: number): Effect.Effect<StoreSchema, PostgresOpenError, Scope.Scope> =>
    Effect.gen(function* () {
      const { target, sql } = yield* connected(url)
      return {
        versions: calling(target, async () => ({
          stored: await knownVersion(sql, target),
          program: programVersion,
        })),
        migrate: calling(target, async () => {
          const isThere = (await knownVersion(sql, target)) > 0
          await openDatabase(url, isThere ? await storedShards(sql, target) : shards)
        }),
      }
    }),
} as const

const connected = (url: string, more: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const target = yield* Effect.try({
      try: () => timersAt(url),
      catch: (error) => new PostgresOpenError({ reason: "invalidUrl", message: describeError(error) }),
    })
    // The server's default plan settings are used, because these queries read whole tables.
    const settings = {
      application_name: "punctual",
      search_path: searchPathOf(target.schema),
      statement_timeout: String(archiveTimeoutMs),
      ...more,
    }
    const sql = yield* Effect.acquireRelease(
      Effect.sync(() => connectionTo({ ...target, settings })),
      (connection) => Effect.promise(() => connection.close({ timeout: 0 }).catch(() => {})),
    )
    return { target, sql }
  })

const knownVersion = async (sql: Bun.SQL, target: DatabaseTarget): Promise<number> => {
  const version = await versionOf(sql, target)
  if (version > programVersion) throw newerSchema(target, version, programVersion)
  return version
}

const calling = <A>(target: DatabaseTarget, call: () => Promise<A>): Effect.Effect<A, StoreError> =>
  Effect.catch(Effect.tryPromise({ try: call, catch: (error) => ({ error }) }), ({ error }) =>
    Effect.flatMap(
      Effect.promise(() => explained(error, target)),
      ({ message }) => new StoreError({ message, isFatal: false }),
    ),
  )
