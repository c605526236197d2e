// The embedded default store: one SQLite file, one thread that writes and one that reads. So neither a commit's fsync
// nor a long list blocks the main thread. This file converts the ports' calls to packs and back. Writer.ts, Reader.ts
// and Leases.ts do the work.
import { Documents } from "@punctual/documents/Documents"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { ShardLeases } from "../../ports/ShardLeases.ts"
import {
  type Found,
  type InvalidCursor,
  type Listed,
  type ListQuery,
  TimerStore,
} from "../../ports/TimerStore.ts"
import { decodeCursor } from "../ListCursor.ts"
import type { WalkPlace } from "../ListLane.ts"
import { listPage } from "../listPage.ts"
import { MemberList } from "../MemberList.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import type { ReaderCalls, WriterCalls } from "./calls.ts"
import { limits } from "./limits.ts"
import { OpenFailure } from "./OpenFailure.ts"
import { type Pack, PackReader } from "./Pack.ts"
import { SharedEnd, StoreThread } from "./StoreThread.ts"
import { readLife, readTimer, unpackDuePage, unpackHeads } from "./timerWire.ts"
import { packBatches, packPuts, unpackAnswers, unpackInserted } from "./writeWire.ts"

export interface SqliteStoreOptions {
  /** The database file; its folder is created if it is missing. */
  readonly path: string
  /** Fixed when the store is created. */
  readonly shards: number
  /** The file worker.ts as a URL. The program's entry builds it, because elsewhere it breaks when compiled. */
  readonly workerUrl: URL
  /** After how many creates, moves and ends of timers a merge begins (level0/MergeWork.ts). Tests set it. */
  readonly layerMoves?: number
  /** Called once when the store can no longer be trusted. The process should end. */
  readonly onFatal?: (message: string) => void
}

/** Why the store could not be opened, in a sentence that says what to do. */
export class SqliteOpenError extends Schema.TaggedError<SqliteOpenError>()("SqliteOpenError", {
  reason: Schema.String,
  message: Schema.String,
}) {}

export const SqliteStore = {
  layer: (options: SqliteStoreOptions): Layer.Layer<TimerStore | ShardLeases | Documents, SqliteOpenError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const sharedEnd = new SharedEnd(options.onFatal ?? (() => {}))
        const { writer, reader } = yield* openThreads(options, sharedEnd)
        return Context.make(TimerStore, timerStoreOver(writer, reader)).pipe(
          Context.add(ShardLeases, leasesOver(writer, new MemberList())),
          Context.add(Documents, documentsOf(writer, reader)),
        )
      }),
    ),
} as const

interface Threads {
  readonly writer: StoreThread<WriterCalls>
  readonly reader: StoreThread<ReaderCalls>
}

const openThreads = (
  options: SqliteStoreOptions,
  sharedEnd: SharedEnd,
): Effect.Effect<Threads, SqliteOpenError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.flatMap(Effect.context<never>(), (context) =>
      Effect.tryPromise({
        try: () =>
          openBoth(options, sharedEnd, (message) => Effect.runForkWith(context)(Effect.logInfo(message))),
        catch: (error) =>
          error instanceof OpenFailure
            ? new SqliteOpenError({ reason: error.reason, message: error.message })
            : new SqliteOpenError({ reason: "failed", message: String(error) }),
      }),
    ),
    // The writer closes last, because it empties the log. It has the lock of the file, so it closes in any case.
    ({ writer, reader }) => Effect.promise(() => reader.close().finally(() => writer.close())),
  )

/**
 * The writer creates and migrates the file that the reader opens. Then both read the journal at the same time: after a kill
 * it can be long, and due timers wait until both have read it.
 */
const openBoth = async (
  { path, shards, workerUrl, layerMoves }: SqliteStoreOptions,
  sharedEnd: SharedEnd,
  onProgress: (message: string) => void,
): Promise<Threads> => {
  const fileReady = Promise.withResolvers<void>()
  const open = <Calls extends { [method in keyof Calls]: (args: never) => unknown }>(
    role: "writer" | "reader",
  ): Promise<StoreThread<Calls>> =>
    StoreThread.open(workerUrl, { role, path, shards, layerMoves }, sharedEnd, {
      onProgress,
      onFileReady: fileReady.resolve,
    })
  const writer = open<WriterCalls>("writer")
  const reader = Promise.race([fileReady.promise, writer]).then(() => open<ReaderCalls>("reader"))
  try {
    const [openedWriter, openedReader] = await Promise.all([writer, reader])
    return { writer: openedWriter, reader: openedReader }
  } catch (error) {
    const close = (thread: { readonly close: () => Promise<void> }): Promise<void> => thread.close()
    await Promise.allSettled([reader.then(close), writer.then(close)])
    throw error
  }
}

const timerStoreOver = (
  writer: StoreThread<WriterCalls>,
  reader: StoreThread<ReaderCalls>,
): TimerStore["Service"] => ({
  limits,
  open: () => Effect.void,
  write: (batches) =>
    Effect.suspend(() => {
      const pack = packBatches(batches)
      return Effect.map(writer.call("write", pack, [pack.bytes.buffer]), (answers) =>
        unpackAnswers(answers, batches),
      )
    }),
  insertIfAbsent: (shard, puts) =>
    Effect.suspend(() => {
      const pack = packPuts(shard, puts)
      return Effect.map(writer.call("insertIfAbsent", pack, [pack.bytes.buffer]), (answers) =>
        unpackInserted(answers, puts),
      )
    }),
  due: (query) => Effect.map(reader.call("due", query), unpackDuePage),
  dueHeads: (query) => Effect.map(reader.call("dueHeads", query), unpackHeads),
  find: ({ namespace, timerId, uuid }, life) =>
    Effect.map(reader.call("find", { key: { namespace, timerId, uuid }, life }), (pack) =>
      foundIn(pack, life !== undefined),
    ),
  list: (query) =>
    Effect.flatMap(cursorOf(query), (from) =>
      Effect.map(reader.call("list", { query, from }), ({ pack, examined, next }) =>
        listPage(query, { items: itemsIn(pack), examined, next }),
      ),
    ),
  count: (query) => reader.call("count", query),
  histogram: (query) => reader.call("histogram", query),
  namespaces: (exclusiveAfter, limit) => reader.call("namespaces", { exclusiveAfter, limit }),
  prune: (exclusiveBeforeMs, limit) => writer.call("prune", { exclusiveBeforeMs, limit }),
  tally: reader.call("tally", null),
})

const documentsOf = (
  writer: StoreThread<WriterCalls>,
  reader: StoreThread<ReaderCalls>,
): Documents["Service"] =>
  storeDocuments({
    write: (asked) => writer.call("writeDocument", asked),
    get: (kind, id) => reader.call("document", { kind, id }),
    list: (range) => reader.call("documents", range),
    changesAfter: (kind, version, limit) => reader.call("documentsAfter", { kind, version, limit }),
  })

/** One process fires all shards of a file, so the members are kept in memory: no other process reads them. */
const leasesOver = (writer: StoreThread<WriterCalls>, members: MemberList): ShardLeases["Service"] => ({
  owners: writer.call("owners", null),
  claim: (expected, node) => writer.call("claim", { expected, node }),
  renew: (held) =>
    writer.call(
      "renew",
      held.map(({ shard, epoch }) => ({ shard, epoch })),
    ),
  release: (shard, epoch) => writer.call("release", { shard, epoch }),
  announce: (member) => Effect.sync(() => members.announce(member)),
  members: Effect.sync(() => members.all()),
  retire: (node) => Effect.sync(() => members.retire(node)),
  retireSilent: (seen) => Effect.sync(() => members.retireSilent(seen)),
})

const cursorOf = (query: ListQuery): Effect.Effect<WalkPlace | undefined, InvalidCursor> =>
  Effect.try({ try: () => decodeCursor(query), catch: (error) => error as InvalidCursor })

const foundIn = (pack: Pack, isLifeNamed: boolean): Found => {
  const input = new PackReader(pack)
  const pending = input.number() === 1 ? readTimer(input) : undefined
  const last = input.number() === 1 ? readLife(input) : undefined
  if (!isLifeNamed) return { pending, last }
  return { pending, last, named: input.number() === 1 ? readLife(input) : undefined }
}

const itemsIn = (pack: Pack): ReadonlyArray<Listed> => {
  const input = new PackReader(pack)
  const items: Array<Listed> = []
  while (!input.isAtEnd) {
    const state = input.text()
    if (state === "pending") items.push({ state, timer: readTimer(input) })
    else {
      const life = readLife(input)
      items.push({ state: life.state, life })
    }
  }
  return items
}
