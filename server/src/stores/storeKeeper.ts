// Commands on the store of a database server, while services may run: doctor, migrate, export, and the documents alone.
// An adapter says how it reaches its rows. The doctor reads the rows that an archive reads, without their payloads.
import { changeOf, type DocumentCalls } from "@punctual/documents/DocumentRow"
import type { Documents } from "@punctual/documents/Documents"
import { Effect } from "effect"
import { addTallies, emptyTally, type Tally } from "../domain/Decision.ts"
import { settingsKind } from "../engine/namespaces/SettingsRecords.ts"
import type { Opened } from "../ports/Adapter.ts"
import type { Lease } from "../ports/ShardLeases.ts"
import type { ExamineOptions, StoreExamination, StoreReport } from "../ports/StoreReport.ts"
import type { StoreSchema } from "../ports/StoreSchema.ts"
import type { TimerArchive } from "../ports/TimerArchive.ts"
import { StoreError } from "../ports/TimerStore.ts"
import { readClockOffset } from "./clockOffset.ts"
import { type CopiedRows, copiedArchive } from "./copiedArchive.ts"
import { type Explain, noStore, olderSchema, opening, type StoredSchema } from "./openingStores.ts"
import { type PagedRows, pageOf, pagesOf } from "./pagedRows.ts"
import { RowCounting } from "./RowCounting.ts"
import { SettingsExamination } from "./SettingsExamination.ts"
import { storeDocuments } from "./StoreDocuments.ts"

export interface KeptStore<Session> {
  /** The name of the adapter, or of the product. */
  readonly name: string
  /** The place for messages. */
  readonly shown: string
  readonly programVersion: number
  /** Connects. It creates and migrates nothing. */
  connect(): Promise<Session>
  close(session: Session): Promise<void>
  explain: Explain
  /** Fails if the store is newer than the program. */
  schema(session: Session): Promise<StoredSchema>
  /** Creates the store, or migrates it. */
  migrate(shards: number): Promise<void>
  documents(session: Session): DocumentCalls
  /** A database that can show many rows as of one instant reads them page by page. All others are copied. */
  readonly rows: PagedRows<Session> | CopiedRows<Session>
  owners(
    session: Session,
    schema: StoredSchema,
  ): Promise<ReadonlyArray<Pick<Lease, "shard" | "epoch" | "node">>>
  /** In the order of the owners. */
  tallies(session: Session, schema: StoredSchema): Promise<ReadonlyArray<Partial<Tally>>>
  sizes?(session: Session): Promise<StoreReport["sizes"]>
  /** Called after all rows were read. */
  faults?(session: Session): Promise<ReadonlyArray<string>>
  clockMs?(session: Session): Promise<number>
}

export interface StoreKeeper {
  readonly archive: Opened<TimerArchive>
  readonly documents: Opened<Documents["Service"]>
  /** `nowMs` is the clock that is compared with the database's. */
  examination(nowMs: () => number): Opened<StoreExamination>
  /** `shards` is used if the store must be created. */
  schema(shards: number): Opened<StoreSchema>
}

/** The limit for a page of an archive. Dead letters may be far apart among the other finished lives. */
const pageTimeoutMs = 300_000

export const keeperOf = <Session>(kept: KeptStore<Session>): StoreKeeper => {
  const calling = <A>(call: () => Promise<A>): Effect.Effect<A, StoreError> =>
    Effect.mapError(opening(call, kept.explain), ({ message }) => new StoreError({ message, isFatal: false }))
  const inTime = <A>(call: () => Promise<A>): Effect.Effect<A, StoreError> =>
    Effect.timeoutOrElse(calling(call), {
      duration: pageTimeoutMs,
      orElse: () => Effect.fail(new StoreError({ message: "a page took too long", isFatal: false })),
    })
  const connected = Effect.acquireRelease(opening(kept.connect, kept.explain), (session) =>
    Effect.promise(() => kept.close(session).catch(() => {})),
  )
  /** An examination also understands an older schema. */
  const existing = (oldestVersion: number) =>
    Effect.flatMap(connected, (session) =>
      opening(async () => {
        const schema = await kept.schema(session)
        if (schema.version === 0) throw noStore(kept.shown)
        if (schema.version < oldestVersion) throw olderSchema(kept.shown, schema.version, kept.programVersion)
        return { session, schema }
      }, kept.explain),
    )
  const { rows } = kept
  return {
    archive: Effect.flatMap(existing(kept.programVersion), ({ session, schema }): Opened<TimerArchive> => {
      if (!("parts" in rows)) return copiedArchive(kept, rows, kept.documents(session), session, schema)
      return Effect.as(
        opening(() => rows.begin(session), kept.explain),
        {
          shards: schema.shards,
          page: (after, limit) => inTime(() => pageOf(rows, session, after, limit)),
          documents: (kind, version, limit) =>
            inTime(async () => {
              const found = await kept.documents(session).changesAfter(kind, version, limit)
              return found.map(changeOf)
            }),
        },
      )
    }),
    documents: Effect.map(existing(kept.programVersion), ({ session }) => {
      const documents = kept.documents(session)
      return storeDocuments({
        write: (asked) => calling(() => documents.write(asked)),
        get: (kind, id) => calling(() => documents.get(kind, id)),
        list: (range) => calling(() => documents.list(range)),
        changesAfter: (kind, version, limit) => calling(() => documents.changesAfter(kind, version, limit)),
      })
    }),
    examination: (nowMs) =>
      Effect.map(existing(1), ({ session, schema }) => ({
        examine: (options) => calling(() => examine(kept, session, schema, options, nowMs)),
      })),
    schema: (shards) =>
      Effect.map(connected, (session) => ({
        versions: calling(async () => ({
          stored: (await kept.schema(session)).version,
          program: kept.programVersion,
        })),
        migrate: calling(async () => {
          const stored = await kept.schema(session)
          await kept.migrate(stored.version === 0 ? shards : stored.shards)
        }),
      })),
  }
}

const examine = async <Session>(
  kept: KeptStore<Session>,
  session: Session,
  schema: StoredSchema,
  options: ExamineOptions,
  nowMs: () => number,
): Promise<StoreReport> => {
  const { rows, clockMs } = kept
  const clockOffsetMs = clockMs && (await readClockOffset(() => clockMs(session), nowMs))
  if ("parts" in rows) await rows.begin(session)
  const settings = new SettingsExamination()
  const limit = SettingsExamination.pageItems
  const documents = kept.documents(session)
  while (settings.take(await documents.changesAfter(settingsKind, settings.version, limit))) {}
  const { pause } = settings.found
  const counting = new RowCounting(
    pause === undefined ? options.overdueBeforeMs : options.overdueBeforeMsIfPaused,
  )
  const pages = "parts" in rows ? pagesOf(rows, session) : rows.pages(session, schema, false)
  for await (const page of pages) for (const row of page) counting.take(row)
  const owners = await kept.owners(session, schema)
  const tallies = await kept.tallies(session, schema)
  return {
    store: kept.name,
    schemaVersion: schema.version,
    programVersion: kept.programVersion,
    shards: owners.map(({ shard, epoch, node }, index) => ({
      shard,
      epoch,
      ...(node === undefined ? {} : { node }),
      tally: addTallies(emptyTally, tallies[index] ?? {}),
      rows: counting.rowsOf(shard),
    })),
    sizes: (await kept.sizes?.(session)) ?? [],
    ...counting.found,
    faults: [...((await kept.faults?.(session)) ?? []), ...counting.found.faults],
    integrity: "notChecked",
    ...(clockOffsetMs === undefined ? {} : { clockOffsetMs }),
    ...settings.found,
    unreadable: [...settings.found.unreadable, ...counting.found.unreadable],
  }
}
