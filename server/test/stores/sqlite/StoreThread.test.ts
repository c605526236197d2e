// When a thread of the store fails or ends, or SQLite reports damage, every call fails, fatally and for good. And how the
// two threads open and close together.
import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect, Layer } from "effect"
import { beginning } from "../../../src/domain/DueOrder.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import type { ReaderCalls, WriterCalls } from "../../../src/stores/sqlite/calls.ts"
import { lockOf, openForWriting } from "../../../src/stores/sqlite/openDatabase.ts"
import { ProcessLock } from "../../../src/stores/sqlite/ProcessLock.ts"
import { SqliteStore } from "../../../src/stores/sqlite/SqliteStore.ts"
import { SharedEnd, StoreThread } from "../../../src/stores/sqlite/StoreThread.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import {
  editable,
  sqliteAt,
  sqliteWorkerUrl,
  type TemporaryFolder,
  temporaryFolder,
} from "../../../testkit/sqlite.ts"
import { samplePut } from "../../../testkit/timers.ts"

let folder: TemporaryFolder
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => folder.dispose())

/** A worker that opens normally and then does what `onMessage` says. */
const workerThat = (onMessage: string): URL => {
  const path = join(folder.path, "worker.mjs")
  writeFileSync(
    path,
    `import { parentPort } from "node:worker_threads"
     parentPort.on("message", () => { ${onMessage} })
     parentPort.postMessage({ kind: "opened" })`,
  )
  return pathToFileURL(path)
}

/**
 * Threads that leave marks when they open and close. The reader opens at once. The writer does what `whenWriterStarts`
 * says: it can `open` or `fail`, and wait for a mark with `after`. If the mark never comes, the thread fails, so that it does
 * not outlive its test.
 */
const threadsThat = (whenWriterStarts: string): URL => {
  const path = join(folder.path, "threads.mjs")
  writeFileSync(
    path,
    `import { existsSync, writeFileSync } from "node:fs"
     import { join } from "node:path"
     import { parentPort, workerData } from "node:worker_threads"
     const pathOf = (mark) => join(${JSON.stringify(folder.path)}, mark)
     const leave = (mark) => writeFileSync(pathOf(mark), "")
     const after = (mark, act) => {
       let looks = 0
       const timer = setInterval(() => {
         if (++looks > 2_000) throw new Error("Nobody left the mark " + mark)
         if (!existsSync(pathOf(mark))) return
         clearInterval(timer)
         act()
       }, 5)
     }
     const say = (response) => parentPort.postMessage(response)
     const open = () => {
       parentPort.on("message", () => {
         leave(workerData.role + " closed")
         process.exit(0)
       })
       leave(workerData.role + " opened")
       say({ kind: "opened" })
     }
     const fail = () => {
       say({ kind: "openFailed", reason: "damaged", message: "the journal is broken" })
       parentPort.close()
     }
     if (workerData.role === "reader") open()
     else { ${whenWriterStarts} }`,
  )
  return pathToFileURL(path)
}

const hasMark = (mark: string): boolean => existsSync(join(folder.path, mark))

/** Opens the store on these threads, and closes it. */
const openedOn = (workerUrl: URL): Promise<void> =>
  Effect.runPromise(
    Layer.build(SqliteStore.layer({ path: folder.database, shards: 1, workerUrl })).pipe(
      Effect.asVoid,
      Effect.scoped,
    ),
  )

const writeJournal = (entries: string): void => {
  using database = editable(folder.database)
  database.run("INSERT OR REPLACE INTO journal (seq, entries) SELECT merged_seq + 1, ? FROM merging", [
    entries,
  ])
}

const createStore = (): void => {
  const { database, lock } = openForWriting({ path: folder.database, shards: 1 })
  database.close()
  lock.close()
}

interface Calls {
  ask(nothing: null): number
}

const endings = [
  ["ends", "process.exit(0)", "ended"],
  ["throws", "throw new Error('broken')", "broken"],
  ["reports a fatal error", "parentPort.postMessage({ kind: 'fatal', message: 'disk full' })", "disk full"],
] as const

describe("a thread of the SQLite store", () => {
  for (const [title, onMessage, expected] of endings) {
    test(`that ${title} fails all waiting calls and all later ones, fatally`, async () => {
      const fatal: Array<string> = []
      const fate = new SharedEnd((message) => fatal.push(message))
      const options = { role: "writer", path: folder.database, shards: 1 } as const
      const thread = await StoreThread.open<Calls>(workerThat(onMessage), options, fate)
      const ask = Effect.flip(thread.call("ask", null))
      const errors = await Effect.runPromise(Effect.all([ask, ask, ask], { concurrency: "unbounded" }))
      const later = await Effect.runPromise(ask)
      for (const error of [...errors, later]) {
        expect(error.isFatal).toBe(true)
        expect(error.message).toContain(expected)
      }
      expect(fatal).toHaveLength(1)
      await thread.close()
    })
  }

  test("that is closed refuses calls, but not as a fatal failure", async () => {
    const fatal: Array<string> = []
    const options = { role: "writer", path: folder.database, shards: 1 } as const
    const thread = await StoreThread.open<Calls>(
      sqliteWorkerUrl,
      options,
      new SharedEnd((message) => fatal.push(message)),
    )
    await thread.close()
    expect((await Effect.runPromise(Effect.flip(thread.call("ask", null)))).isFatal).toBe(false)
    expect(fatal).toEqual([])
  })

  test("that reads does not start before the writer has prepared the file", async () => {
    await expect(openedOn(threadsThat("fail()"))).rejects.toThrow("the journal is broken")
    expect(hasMark("reader opened")).toBe(false)
  })

  test("that reads starts when the file is prepared, while the writer still opens", async () => {
    await openedOn(threadsThat(`after("reader opened", open); say({ kind: "fileReady" })`))
    expect(hasMark("reader closed")).toBe(true)
    expect(hasMark("writer closed")).toBe(true)
  })

  test("that reads is closed if the writer fails after it has prepared the file", async () => {
    const workerUrl = threadsThat(`after("reader opened", fail); say({ kind: "fileReady" })`)
    await expect(openedOn(workerUrl)).rejects.toMatchObject({
      _tag: "SqliteOpenError",
      reason: "damaged",
      message: "the journal is broken",
    })
    expect(hasMark("reader closed")).toBe(true)
  })

  test("that writes is closed if the reader cannot be closed", async () => {
    const { close } = StoreThread.prototype
    const closing = spyOn(StoreThread.prototype, "close")
    closing.mockImplementationOnce(async function (this: StoreThread<ReaderCalls>) {
      await close.call(this)
      throw new Error("the reader does not end")
    })
    try {
      await expect(openedOn(sqliteWorkerUrl)).rejects.toThrow("the reader does not end")
    } finally {
      closing.mockRestore()
    }
    const lock = new ProcessLock(lockOf(folder.database))
    expect(lock.tryAcquire()).toBe(true)
    lock.close()
  })

  test("that writes says that the file is prepared before it reads the journal", async () => {
    createStore()
    const said: Array<string> = []
    const open = () =>
      StoreThread.open<WriterCalls>(
        sqliteWorkerUrl,
        { role: "writer", path: folder.database, shards: 1 },
        new SharedEnd(() => {}),
        { onFileReady: () => said.push("file ready") },
      )
    const thread = await open()
    said.push("opened")
    await thread.close()
    writeJournal("cannot be read")
    await expect(open()).rejects.toMatchObject({ reason: "damaged" })
    expect(said).toEqual(["file ready", "opened", "file ready"])
  })

  test("that reads has read the journal when it is open", async () => {
    createStore()
    writeJournal("[]")
    const thread = await StoreThread.open<ReaderCalls>(
      sqliteWorkerUrl,
      { role: "reader", path: folder.database, shards: 1 },
      new SharedEnd(() => {}),
    )
    // From now on only a thread that has already read the journal can answer.
    writeJournal("cannot be read")
    const namespaces = thread.call("namespaces", { exclusiveAfter: "", limit: 1 })
    expect(await Effect.runPromise(namespaces)).toEqual([])
    await thread.close()
  })

  test("that finds the file corrupt fails the store, and says so once", async () => {
    const puts = Array.from({ length: 200 }, () => samplePut({ fireAt: 1, payload: new Uint8Array(500) }))
    const write = Effect.flatMap(owned, (store) => store.write(puts))
    await Effect.runPromise(
      write.pipe(Effect.provide(sqliteAt(folder.database, { shards: 1 })), Effect.scoped),
    )
    // The first pages hold the schema and what a start reads, and stay, so that the store opens.
    const bytes = readFileSync(folder.database)
    writeFileSync(folder.database, bytes.fill(0xff, 31 * 4_096))
    const fatal: Array<string> = []
    const layer = SqliteStore.layer({
      path: folder.database,
      shards: 1,
      workerUrl: sqliteWorkerUrl,
      onFatal: (message) => fatal.push(message),
    })
    const body = Effect.gen(function* () {
      const store = yield* TimerStore
      const query = { shard: 0, exclusiveAfter: beginning, inclusiveUntilMs: 9e15, limit: 500 }
      const error = yield* Effect.flip(store.due(query))
      expect(error).toMatchObject({ _tag: "StoreError", isFatal: true })
      expect((yield* Effect.flip(store.write([]))).isFatal).toBe(true)
      expect((yield* Effect.flip(store.tally)).isFatal).toBe(true)
    })
    await Effect.runPromise(body.pipe(Effect.provide(layer), Effect.scoped))
    expect(fatal).toHaveLength(1)
    expect(fatal[0]).toContain("malformed")
  })
})
