// The thread that owns the agent's SQLite file. Calls that arrive while a commit runs share the next commit, because a
// commit costs one sync of the disk however much it contains. Each call has a savepoint, so a call that fails does not
// take the others with it. Answers are sent after the commit. After a failed commit the thread reports a fatal error
// and answers nothing more, because nobody knows what the file contains.
import { parentPort, workerData } from "node:worker_threads"
import { CallTables } from "./CallTables.ts"
import type { CallFileOptions, CallFileRequest, CallFileResponse } from "./calls.ts"
import { openCallFile } from "./openCallFile.ts"

/** A batch ends here, so that no call waits long for its answer. */
const mostCallsInCommit = 256

const options = workerData as CallFileOptions
const port = parentPort
const say = (response: CallFileResponse): void => port?.postMessage(response)
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Errors of the disk. Any other error concerns one call. */
const isFatal = (error: unknown): boolean =>
  /SQLITE_(?:IOERR|FULL|CORRUPT|NOTADB|READONLY)/.test((error as { code?: string } | null)?.code ?? "")

const serve = (): void => {
  const database = openCallFile(options.path)
  const tables = new CallTables(database)
  // calls.ts gives every name its arguments. Messages between threads have no types.
  const methods = tables as unknown as Readonly<Record<string, (asked: unknown) => unknown>>
  let waiting: Array<Exclude<CallFileRequest, { readonly close: true }>> = []
  let isScheduled = false
  let isBroken = false

  const perform = (request: (typeof waiting)[number]): CallFileResponse => {
    const { call, name, asked } = request
    database.run("SAVEPOINT one")
    try {
      const value = methods[name]?.call(tables, asked)
      database.run("RELEASE one")
      return { kind: "answer", call, value }
    } catch (error) {
      if (isFatal(error)) throw error
      database.run("ROLLBACK TO one")
      database.run("RELEASE one")
      return { kind: "failed", call, message: textOf(error) }
    }
  }

  const commitWaiting = (): void => {
    isScheduled = false
    if (isBroken) return
    const batch = waiting.splice(0, mostCallsInCommit)
    try {
      database.run("BEGIN IMMEDIATE")
      const responses = batch.map(perform)
      database.run("COMMIT")
      for (const response of responses) say(response)
    } catch (error) {
      isBroken = true
      say({ kind: "fatal", message: `${options.path} cannot be written: ${textOf(error)}` })
      return
    }
    if (waiting.length > 0) schedule()
  }

  const schedule = (): void => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(commitWaiting)
  }

  port?.on("message", (request: CallFileRequest) => {
    if ("close" in request) {
      while (waiting.length > 0 && !isBroken) commitWaiting()
      waiting = []
      database.close()
      port.close()
      return
    }
    waiting.push(request)
    schedule()
  })
  say({ kind: "opened" })
}

try {
  serve()
} catch (error) {
  say({ kind: "openFailed", message: textOf(error) })
  port?.close()
}
