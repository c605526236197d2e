import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect, Layer } from "effect"
import { CallStore } from "../../src/ports/CallStore.ts"
import { SqliteCallStore } from "../../src/stores/sqlite/SqliteCallStore.ts"
import { callStoreSuite } from "../../testkit/CallStore.suite.ts"
import { sampleChange, sampleRequest } from "../../testkit/CallStoreFixture.ts"
import { callWorkerUrl, sqliteCalls } from "../../testkit/sqliteCalls.ts"

callStoreSuite(sqliteCalls)

describe("the agent's SQLite file", () => {
  const openAt = (path: string) => SqliteCallStore.layer({ path, workerUrl: callWorkerUrl })
  const refusalOf = (path: string) =>
    Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(openAt(path))))).then(({ message }) => message)

  test("belongs to one process, and only its owner may read it", async () => {
    using folder = new TemporaryFolder()
    const path = join(folder.path, "agent.db")
    await Effect.runPromise(
      Effect.flatMap(CallStore, (store) =>
        Effect.gen(function* () {
          yield* store.submit(sampleChange("Submitted"), sampleRequest)
          expect(statSync(path).mode & 0o777).toBe(0o600)
          expect(yield* Effect.promise(() => refusalOf(path))).toContain("in use by another process")
          expect(yield* store.find({ tenantId: "acme", serviceCallId: "call-1" })).toBeDefined()
        }),
      ).pipe(Effect.provide(openAt(path))),
    )
  })

  test("is refused if it belongs to another program or to a newer version, or is no database", async () => {
    using folder = new TemporaryFolder()
    const other = join(folder.path, "other.db")
    const made = new Database(other, { create: true })
    made.run("CREATE TABLE timers (id TEXT)")
    made.close()
    expect(await refusalOf(other)).toContain("another program")
    const newer = join(folder.path, "newer.db")
    await Effect.runPromise(Effect.scoped(Layer.build(openAt(newer))))
    const edited = new Database(newer)
    edited.run("PRAGMA user_version = 99")
    edited.close()
    expect(await refusalOf(newer)).toContain("newer version")
    const text = join(folder.path, "text.db")
    writeFileSync(text, "this is not a database, but a text that is long enough ".repeat(20))
    expect(await refusalOf(text)).toContain("cannot be opened")
  })

  test("many calls at the same time share commits and are all answered", async () => {
    using folder = new TemporaryFolder()
    const many = Array.from({ length: 2_000 }, (_, at) => `call-${at}`)
    await Effect.runPromise(
      Effect.flatMap(CallStore, (store) =>
        Effect.gen(function* () {
          const results = yield* Effect.forEach(
            many,
            (serviceCallId) => store.submit(sampleChange("Submitted", { serviceCallId }), sampleRequest),
            { concurrency: "unbounded" },
          )
          expect(results.every((present) => present === undefined)).toBe(true)
          expect((yield* store.counts("acme", {})).Submitted).toEqual({ count: 2_000, isCapped: false })
        }),
      ).pipe(Effect.provide(openAt(join(folder.path, "agent.db")))),
    )
  })
})
