// A thread of the SQLite store: the writer, or the reader. It does what it is asked in order and
// answers each. After a fatal error it says so and answers nothing more: the process is to end.
import { parentPort, workerData } from "node:worker_threads"
import type { Put } from "../../domain/WriteItem.ts"
import { Checkpoints } from "./Checkpoints.ts"
import type { ReaderCalls, Request, Response, ThreadOptions, WriterCalls } from "./calls.ts"
import { describe, isFatal } from "./failures.ts"
import { Leases } from "./Leases.ts"
import { OpenFailure } from "./OpenFailure.ts"
import { openForReading, openForWriting } from "./openDatabase.ts"
import { Reader } from "./Reader.ts"
import { Restorer } from "./Restorer.ts"
import { unpackRestores } from "./restoreWire.ts"
import { Writer } from "./Writer.ts"
import { packAnswers, unpackBatches } from "./writeWire.ts"

interface Served {
  readonly calls: { readonly [method: string]: (args: never) => unknown }
  readonly afterCall: () => void
  readonly close: () => void
}

const options = workerData as ThreadOptions
const port = parentPort
const say = (response: Response): void => port?.postMessage(response)
let isBroken = false

const breakDown = (error: unknown): void => {
  isBroken = true
  say({ kind: "fatal", message: describe(error) })
}

const serveWriter = (): Served => {
  const { database, lock } = openForWriting(options)
  const writer = new Writer(database)
  const leases = new Leases(database, writer, lock)
  const checkpoints = new Checkpoints(database)
  // Few processes ever restore anything.
  let restorer: Restorer | undefined
  const calls: WriterCalls = {
    write: (pack) => packAnswers(writer.write(unpackBatches(pack))),
    insertIfAbsent: (pack) =>
      packAnswers(
        unpackBatches(pack).map(({ shard, items }) => writer.insertIfAbsent(shard, items as Array<Put>)),
      ),
    restore: (pack) => {
      restorer ??= new Restorer(database, writer)
      return restorer.restore(unpackRestores(pack))
    },
    prune: ({ exclusiveBeforeMs, limit }) => writer.prune(exclusiveBeforeMs, limit),
    owners: () => leases.owners(),
    claim: ({ expected, node }) => leases.claim(expected, node),
    renew: (held) => leases.renew(held),
    release: ({ shard, epoch }) => leases.release(shard, epoch),
  }
  return {
    calls: { ...calls },
    afterCall: () => checkpoints.afterCommit(breakDown),
    close: () => {
      checkpoints.close()
      database.close()
      lock.close()
    },
  }
}

const serveReader = (): Served => {
  const database = openForReading(options)
  const reader = new Reader(database)
  const calls: ReaderCalls = {
    due: (query) => reader.due(query),
    dueHeads: (query) => reader.dueHeads(query),
    find: (key) => reader.find(key),
    list: ({ query, after }) => reader.list(query, after),
    count: (query) => reader.count(query),
    tally: () => reader.tally(),
  }
  return { calls: { ...calls }, afterCall: () => {}, close: () => database.close() }
}

const answer = (served: Served, request: Request): void => {
  if ("close" in request) {
    served.close()
    port?.close()
    return
  }
  if (isBroken) return
  const { call, method, args } = request
  try {
    const value = served.calls[method]?.(args as never)
    say({ kind: "answer", call, value })
    served.afterCall()
  } catch (error) {
    if (isFatal(error)) breakDown(error)
    else say({ kind: "failed", call, message: describe(error) })
  }
}

try {
  const served = options.role === "writer" ? serveWriter() : serveReader()
  port?.on("message", (request: Request) => answer(served, request))
  say({ kind: "opened" })
} catch (error) {
  const reason = error instanceof OpenFailure ? error.reason : "failed"
  say({ kind: "openFailed", reason, message: describe(error) })
  port?.close()
}
