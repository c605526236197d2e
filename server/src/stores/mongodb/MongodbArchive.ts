// Reads a store for an archive. MongoDB shows no single instant over many documents here, so the archive reads everything
// into a temporary file, and then checks that no commit, insert or document was written meanwhile. If there was one, it
// reads again, and after a few times it asks to stop the services. So the archive always shows one instant.
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { changeOf, type DocumentRow } from "@punctual/documents/DocumentRow"
import type { Commands } from "@punctual/documents/mongodb/Commands"
import { Effect, type Scope } from "effect"
import { BSON } from "../../../../drivers/mongodb/mongodb.ts"
import type { FinishedState } from "../../domain/Timer.ts"
import type { ArchivedItem } from "../../domain/WriteItem.ts"
import type { SortKey } from "../../ports/ShardStorage.ts"
import type { ArchivePage, ArchivePlace, TimerArchive } from "../../ports/TimerArchive.ts"
import { archivePage } from "../archivePage.ts"
import { Commits } from "./Commits.ts"
import { MongodbFailure } from "./failures.ts"
import { type MongodbOpenError, opening } from "./MongodbStore.ts"
import type { MongodbAddress } from "./mongodbUrl.ts"
import { existingShards, withCommands } from "./openDatabase.ts"
import { readNames, readRows } from "./Reader.ts"
import { lifeOf, timerOf } from "./rows.ts"

const readsTried = 5
const pageRows = 1_000
const namesAtOnce = 1_000

interface Copy {
  readonly shards: number
  readonly file: number
  readonly bytes: number
  readonly documents: ReadonlyArray<DocumentRow>
}

export const MongodbArchive = {
  /** The file is removed with the scope. */
  open: (address: MongodbAddress): Effect.Effect<TimerArchive, MongodbOpenError, Scope.Scope> =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "punctual-archive-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true })),
      )
      const path = join(folder, "rows")
      const copy = yield* Effect.acquireRelease(
        opening(() => withCommands(address, (commands) => copied(commands, address.shown, path))),
        ({ file }) => Effect.sync(() => closeSync(file)),
      )
      return archiveOf(copy)
    }),
} as const

const copied = async (commands: Commands, shown: string, path: string): Promise<Copy> => {
  const shards = await existingShards(commands, shown)
  const commits = new Commits(commands)
  for (let tried = 0; tried < readsTried; tried++) {
    for (let shard = 0; shard < shards; shard++) await commits.settle(shard)
    const before = await stateOf(commands)
    const file = openSync(path, "w+", 0o600)
    const bytes = await copyRows(commands, file)
    const documents = await readDocuments(commands)
    if ((await stateOf(commands)) === before) return { shards, file, bytes, documents }
    closeSync(file)
  }
  throw new MongodbFailure(
    `${shown} was written while it was read, ${readsTried} times: stop the services, or copy the database with mongodump.`,
  )
}

/** Changes with every commit, every insert without an owner and every write of a document. Pruning only removes. */
const stateOf = async (commands: Commands): Promise<string> => {
  const projection = { epoch: 1, number: 1, foreign: 1, version: 1 }
  const [shards, leases, meta] = await Promise.all([
    commands.find("shards", {}, { sort: { _id: 1 }, projection }),
    commands.find("leases", {}, { sort: { _id: 1 }, projection: { foreign: 1 } }),
    commands.find("meta", { _id: "documents" }, { projection }),
  ])
  return JSON.stringify([shards, leases, meta])
}

/** Pending timers by key, then lives in the order in which they ended and were stored, by namespace and state. */
const copyRows = async (commands: Commands, file: number): Promise<number> => {
  let bytes = 0
  const copy = async (
    namespace: string,
    order: "pendingId" | "end",
    state?: FinishedState,
  ): Promise<void> => {
    let exclusiveAfter: SortKey | undefined
    do {
      const place = exclusiveAfter === undefined ? {} : { exclusiveAfter }
      const scan = { namespace, order, isDescending: false, limit: pageRows, ...place }
      const rows = await readRows(commands, { ...scan, ...(state === undefined ? {} : { state }) })
      for (const row of rows) bytes += writeSync(file, BSON.serialize(row))
      const last = rows.length < pageRows ? undefined : rows.at(-1)
      exclusiveAfter = last && (state ? [last["finished_at"], last["entry"]] : [last["timer_id"]])
    } while (exclusiveAfter !== undefined)
  }
  for (let after = ""; ; ) {
    const names = await readNames(commands, after, namesAtOnce, true)
    for (const namespace of names) {
      await copy(namespace, "pendingId")
      for (const state of ["delivered", "cancelled", "dead"] as const) await copy(namespace, "end", state)
    }
    if (names.length < namesAtOnce) return bytes
    after = names.at(-1) ?? ""
  }
}

const readDocuments = async (commands: Commands): Promise<ReadonlyArray<DocumentRow>> =>
  (await commands.find("documents", {}, { sort: { version: 1 } })) as unknown as ReadonlyArray<DocumentRow>

const archiveOf = ({ shards, file, bytes, documents }: Copy): TimerArchive => ({
  shards,
  page: (after, limit) => Effect.sync(() => pageOf(file, bytes, after, limit)),
  documents: (kind, exclusiveAfterVersion, limit) =>
    Effect.sync(() =>
      documents
        .filter((row) => row.kind === kind && row.version > exclusiveAfterVersion)
        .slice(0, limit)
        .map(changeOf),
    ),
})

/** A place is an offset in the file. Each row begins with its length. */
const pageOf = (file: number, bytes: number, after: ArchivePlace | undefined, limit: number): ArchivePage => {
  let offset = Number(after?.key[0] ?? 0)
  const items: Array<ArchivedItem> = []
  const length = Buffer.alloc(4)
  while (items.length < limit && offset < bytes) {
    readSync(file, length, 0, 4, offset)
    const row = Buffer.alloc(length.readInt32LE(0))
    offset += readSync(file, row, 0, row.byteLength, offset)
    const document = BSON.deserialize(row, { promoteBuffers: true })
    if (document["state"] === undefined) items.push({ kind: "pending", timer: timerOf(document) })
    else items.push({ kind: "ended", life: lifeOf(document) })
  }
  return archivePage(items, offset < bytes ? { part: "pending", key: [offset] } : undefined)
}
