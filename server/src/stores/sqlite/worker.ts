// A thread of the SQLite store: the writer, the reader, or the keeper of a command. It executes its calls in order and
// answers each. Long reads run in slices between the other calls. After a fatal error it reports the error and answers nothing more, because the process is about to end.
import { parentPort, workerData } from "node:worker_threads"
import { DocumentTable } from "@punctual/documents/sqlite/DocumentTable"
import { Checkpoints } from "./Checkpoints.ts"
import type { ReaderCalls, ThreadOptions, ThreadRequest, ThreadResponse, WriterCalls } from "./calls.ts"
import { describe, explain, isFatal, isTemporary, refusal } from "./failures.ts"
import { Keeper, type KeeperCalls } from "./Keeper.ts"
import { Leases } from "./Leases.ts"
import { Lookup } from "./Lookup.ts"
import type { Merge } from "./level0/Merge.ts"
import { MergeWork, mergingOf } from "./level0/MergeWork.ts"
import { openOrders } from "./level0/openOrders.ts"
import { idsOfReader, idsOfWriter } from "./level0/pendingIds.ts"
import { ReaderOrders } from "./level0/ReaderOrders.ts"
import { lowerOwnPriority } from "./lowerOwnPriority.ts"
import { DisplacedFiles, OpenedFiles } from "./OpenedFiles.ts"
import { OpenFailure } from "./OpenFailure.ts"
import { openForReading, openForWriting } from "./openDatabase.ts"
import type { ProcessLock } from "./ProcessLock.ts"
import { Reader, type Sliced } from "./Reader.ts"
import { SlicedCalls } from "./SlicedCalls.ts"
import { Writer } from "./Writer.ts"
import { packAnswers, packInserted, unpackBatches, unpackPuts } from "./writeWire.ts"

interface Served {
  readonly calls: { readonly [method: string]: (args: never) => unknown }
  readonly sliced?: { readonly [method: string]: (args: never) => Sliced<unknown> }
  /** Throws if the result may not be acknowledged. */
  readonly beforeAnswer: () => void
  readonly afterCall: () => void
  readonly close: () => void
}

/** The reads that run in slices. */
type SlicedReads = {
  readonly [method in "list" | "count" | "histogram"]: (
    args: Parameters<ReaderCalls[method]>[0],
  ) => Sliced<ReturnType<ReaderCalls[method]>>
}

const options = workerData as ThreadOptions
const port = parentPort
const say = (response: ThreadResponse): void => port?.postMessage(response)
const sayProgress = (message: string): void => say({ kind: "progress", message })
let isBroken = false

const breakDown = (error: unknown): void => {
  isBroken = true
  say({ kind: "fatal", message: explain(error, options.path) })
}

/**
 * The files are no longer the opened ones. This process still has the opened log, and its pages go into the database
 * that was opened. So a database that was moved away is complete, and a file that took its place does not meet a
 * foreign log.
 */
const saveLog = (displaced: DisplacedFiles, checkpoints: Checkpoints): Error => {
  if (!displaced.isLogToBeSaved) return displaced
  try {
    if (checkpoints.saveAll()) return displaced
    return new Error(`${displaced.message}. The latest writes are lost: a reader blocked them`)
  } catch (error) {
    return new Error(`${displaced.message}. The latest writes are lost: ${describe(error)}`)
  }
}

const largePackBytes = 1 << 20

/** So that the next start has nothing to read. If it fails, the journal still has everything. */
const finishMerge = (merge: Merge, lock: ProcessLock): void => {
  if (!lock.isHeld || isBroken) return
  try {
    merge.finish()
  } catch {
    // The next start merges.
  }
}

const serveWriter = (): Served => {
  const { database, lock } = openForWriting(options, sayProgress)
  say({ kind: "fileReady" })
  const orders = openOrders(database, options.path)
  const writer = new Writer(orders, new Lookup(database, idsOfWriter(orders)))
  const { merge, runMoves } = mergingOf(orders, options.layerMoves)
  // A broken writer must not write into its log any more: another file may have taken the place of the database.
  const mayMerge = {
    get isHeld() {
      return lock.isHeld && !isBroken
    },
  }
  const checkpoints = new Checkpoints(database)
  const limits = { moves: options.layerMoves }
  const merging = new MergeWork({ merge, runMoves }, orders, mayMerge, limits, () =>
    checkpoints.afterCommit(breakDown),
  )
  const leases = new Leases(database, writer, lock)
  const documents = new DocumentTable(database)
  const files = new OpenedFiles(options.path)
  const calls: WriterCalls = {
    write: (pack) => {
      const { answers, asExpected } = writer.write(unpackBatches(pack))
      // The thread has few objects of its own, so the runtime would find the memory of large packs late.
      if (pack.bytes.byteLength > largePackBytes) Bun.gc(false)
      return packAnswers(answers, asExpected)
    },
    insertIfAbsent: (pack) => {
      const { shard, puts } = unpackPuts(pack)
      return packInserted(writer.insertIfAbsent(shard, puts).answers)
    },
    prune: ({ exclusiveBeforeMs, limit }) => writer.prune(exclusiveBeforeMs, limit),
    owners: () => leases.owners(),
    claim: ({ expected, node }) => leases.claim(expected, node),
    renew: (held) => leases.renew(held),
    release: ({ shard, epoch }) => leases.release(shard, epoch),
    writeDocument: (asked) => documents.write(asked, (work) => writer.transaction(work)),
  }
  merging.afterStart(breakDown)
  return {
    calls: { ...calls },
    beforeAnswer: () => {
      try {
        files.check()
      } catch (error) {
        breakDown(error instanceof DisplacedFiles ? saveLog(error, checkpoints) : error)
      }
    },
    afterCall: () => {
      try {
        merging.afterCall(breakDown)
      } finally {
        checkpoints.afterCommit(breakDown)
      }
    },
    close: () => {
      merging.close()
      checkpoints.close()
      finishMerge(merge, lock)
      database.close()
      lock.close()
    },
  }
}

/** So that the first read need not wait for it. If it fails, the first read tries again and says why. */
const readJournal = (orders: ReaderOrders): void => {
  try {
    orders.atOneInstant(() => {})
  } catch {
    // The first read tries again.
  }
}

const serveReader = (): Served => {
  lowerOwnPriority()
  const database = openForReading(options)
  const orders = new ReaderOrders(database, { isReadOnly: true })
  readJournal(orders)
  const reader = new Reader(orders, new Lookup(database, idsOfReader(orders)))
  const documents = new DocumentTable(database)
  const sliced = {
    list: ({ query, from }) => reader.list(query, from),
    count: (query) => reader.count(query),
    histogram: (query) => reader.histogram(query),
  } satisfies SlicedReads
  const calls: Omit<ReaderCalls, keyof typeof sliced> = {
    due: (query) => reader.due(query),
    dueHeads: (query) => reader.dueHeads(query),
    find: ({ key, life }) => reader.find(key, life),
    tally: () => reader.tally(),
    document: ({ kind, id }) => documents.get(kind, id),
    documents: (range) => documents.list(range),
    documentsAfter: ({ kind, version, limit }) => documents.changesAfter(kind, version, limit),
    namespaces: ({ exclusiveAfter, limit }) => reader.namespaces(exclusiveAfter, limit),
  }
  return {
    calls: { ...calls },
    sliced,
    beforeAnswer: () => {},
    afterCall: () => {},
    close: () => database.close(),
  }
}

const serveKeeper = (): Served => {
  const keeper = new Keeper(options.path, sayProgress)
  const calls: KeeperCalls = {
    examine: (asked) => keeper.examine(asked),
    documentsAfter: (asked) => keeper.documentsAfter(asked),
    copy: (asked) => keeper.copy(asked),
    takePlace: () => keeper.takePlace(),
    inspect: (file) => keeper.inspect(file),
    prepare: (asked) => keeper.prepare(asked),
    put: (asked) => keeper.put(asked),
    versions: () => keeper.versions(),
    migrate: (shards) => keeper.migrate(shards),
  }
  return { calls: { ...calls }, beforeAnswer: () => {}, afterCall: () => {}, close: () => keeper.close() }
}

const serve = { writer: serveWriter, reader: serveReader, keeper: serveKeeper } as const

const slicedCalls = new SlicedCalls()

/** The call was answered. A failure now is not its failure. */
const afterCall = (served: Served): void => {
  try {
    served.afterCall()
  } catch (error) {
    if (!isTemporary(error)) breakDown(error)
  }
}

const answer = (served: Served, request: ThreadRequest): void => {
  if ("close" in request) {
    slicedCalls.finishAll()
    served.close()
    port?.close()
    return
  }
  if ("drop" in request) {
    slicedCalls.drop(request.drop)
    return
  }
  if (isBroken) return
  const { call, method, args } = request
  const fail = (error: unknown): void => {
    if (isBroken) return
    if (isFatal(error)) breakDown(error)
    else say({ kind: "failed", call, message: refusal(error, options.path) })
  }
  const slices = served.sliced?.[method]
  if (slices !== undefined) {
    const finish = (value: unknown): void => {
      if (!isBroken) say({ kind: "answer", call, value })
    }
    slicedCalls.add(call, { slices: slices(args as never), finish, fail })
    return
  }
  try {
    const value = served.calls[method]?.(args as never)
    served.beforeAnswer()
    if (isBroken) return
    say({ kind: "answer", call, value })
    afterCall(served)
  } catch (error) {
    fail(error)
  }
}

try {
  const served = serve[options.role]()
  port?.on("message", (request: ThreadRequest) => answer(served, request))
  say({ kind: "opened" })
} catch (error) {
  const reason = error instanceof OpenFailure ? error.reason : "failed"
  say({ kind: "openFailed", reason, message: describe(error) })
  port?.close()
}
