// When a thread of the store fails or ends, or SQLite reports damage, every call fails, fatally and for good.
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Effect } from "effect"
import { beginning } from "../../../src/domain/DueOrder.ts"
import { TimerStore } from "../../../src/ports/TimerStore.ts"
import { SqliteStore } from "../../../src/stores/sqlite/SqliteStore.ts"
import { SharedEnd, StoreThread } from "../../../src/stores/sqlite/StoreThread.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { sqliteAt, sqliteWorkerUrl, type TemporaryFolder, temporaryFolder } from "../../../testkit/sqlite.ts"
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

  test("that writes prepares the file, and then reads the journal while the other thread does so, too", async () => {
    const started = JSON.stringify(join(folder.path, "reader started"))
    const worker = join(folder.path, "worker.mjs")
    writeFileSync(
      worker,
      `import { existsSync, writeFileSync } from "node:fs"
       import { parentPort, workerData } from "node:worker_threads"
       const open = () => parentPort.postMessage({ kind: "opened" })
       if (workerData.role === "reader") {
         writeFileSync(${started}, "")
         open()
       } else {
         setTimeout(() => {
           if (existsSync(${started})) process.exit(1)
           parentPort.postMessage({ kind: "fileReady" })
           setInterval(() => existsSync(${started}) && open(), 5)
         }, 50)
       }
       parentPort.on("message", () => process.exit(0))`,
    )
    const store = SqliteStore.layer({ path: folder.database, shards: 1, workerUrl: pathToFileURL(worker) })
    await Effect.runPromise(Effect.asVoid(TimerStore).pipe(Effect.provide(store), Effect.scoped))
  })

  test("that finds the file corrupt fails the store, and says so once", async () => {
    const puts = Array.from({ length: 200 }, () => samplePut({ fireAt: 1, payload: new Uint8Array(500) }))
    const write = Effect.flatMap(owned, (store) => store.write(puts))
    await Effect.runPromise(
      write.pipe(Effect.provide(sqliteAt(folder.database, { shards: 1 })), Effect.scoped),
    )
    // The first page holds the schema and stays, so that the store opens.
    const bytes = readFileSync(folder.database)
    writeFileSync(folder.database, bytes.fill(0xff, 20 * 4_096))
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
