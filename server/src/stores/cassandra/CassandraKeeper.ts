// Commands on a store without a service: export, doctor, migrate, and the documents alone.
import { readChanges } from "@punctual/documents/cassandra/cassandraDocuments"
import type { DocumentRow } from "@punctual/documents/DocumentRow"
import type { Documents } from "@punctual/documents/Documents"
import { Effect, type Scope } from "effect"
import type { StoreExamination } from "../../ports/StoreReport.ts"
import type { StoreSchema } from "../../ports/StoreSchema.ts"
import type { TimerArchive } from "../../ports/TimerArchive.ts"
import { StoreError } from "../../ports/TimerStore.ts"
import { ArchiveCopy } from "../ArchiveCopy.ts"
import { copyStore } from "./CassandraArchive.ts"
import { examineStore } from "./CassandraDoctor.ts"
import { CassandraOpenError, cassandraDocuments } from "./CassandraStore.ts"
import type { CassandraTarget } from "./cassandraUrl.ts"
import { describeCassandraError } from "./failures.ts"
import { Keys } from "./Keys.ts"
import { openDatabase, openExisting, schemaVersions } from "./openDatabase.ts"
import type { Session } from "./Session.ts"

type Opening<A> = Effect.Effect<A, CassandraOpenError, Scope.Scope>

export const CassandraKeeper = {
  archive: (target: CassandraTarget): Opening<TimerArchive> =>
    Effect.gen(function* () {
      const { session, shards } = yield* existing(target)
      const copy = yield* Effect.acquireRelease(
        Effect.sync(() => new ArchiveCopy()),
        (made) => Effect.sync(() => made.close()),
      )
      return yield* opening(async () =>
        copyStore(session, new Keys(session, shards), copy, await allDocuments(session)),
      )
    }),

  /** Services may run meanwhile. */
  documents: (target: CassandraTarget): Opening<Documents["Service"]> =>
    Effect.map(existing(target), ({ session }) => cassandraDocuments(session, calling)),

  /** `nowMs` is the clock that is compared with the database's. */
  examination: (target: CassandraTarget, nowMs: () => number): Opening<StoreExamination> =>
    Effect.map(existing(target), ({ session, shards }) => ({
      examine: (options) => calling(() => examineStore(session, shards, options, nowMs)),
    })),

  /** `shards` is used if the store must be created. */
  schema: (target: CassandraTarget, shards: number): Opening<StoreSchema> =>
    Effect.succeed({
      versions: calling(() => schemaVersions(target)),
      migrate: calling(async () => {
        const { stored } = await schemaVersions(target)
        const existing = stored === 0 ? undefined : await openExisting(target).catch(() => undefined)
        await existing?.session.close()
        const { session } = await openDatabase(target, existing?.shards ?? shards)
        await session.close()
      }),
    }),
} as const

const existing = (target: CassandraTarget) =>
  Effect.acquireRelease(
    opening(() => openExisting(target)),
    ({ session }) => Effect.promise(() => session.close().catch(() => {})),
  )

const opening = <A>(open: () => Promise<A>): Effect.Effect<A, CassandraOpenError> =>
  Effect.tryPromise({
    try: open,
    catch: (error) => new CassandraOpenError({ message: describeCassandraError(error) }),
  })

const calling = <A>(call: () => Promise<A>): Effect.Effect<A, StoreError> =>
  Effect.tryPromise({
    try: call,
    catch: (error) => new StoreError({ message: describeCassandraError(error), isFatal: false }),
  })

const documentsAtOnce = 500

const allDocuments = async (session: Session): Promise<ReadonlyArray<DocumentRow>> => {
  const kinds = await session.rows("SELECT kind FROM documents WHERE store = ? GROUP BY store, kind", [
    session.store,
  ])
  const found: Array<DocumentRow> = []
  for (const row of kinds) {
    const kind = String(row["kind"])
    // Documents have names of letters. The others are rows of the table itself.
    if (!/^[a-z]/.test(kind)) continue
    for (let version = 0; ; ) {
      const page = await readChanges(session, kind, version, documentsAtOnce)
      found.push(...page)
      version = page.at(-1)?.version ?? version
      if (page.length === 0) break
    }
  }
  return found
}
