// The documents of a file that a service has open: the laws of documents hold, and neither side harms the other.
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { Documents } from "@punctual/documents/Documents"
import { documentsSuite } from "@punctual/documents/testkit/Documents.suite"
import { Context, Effect, Layer } from "effect"
import { SqliteDocuments } from "../../../src/stores/sqlite/SqliteDocuments.ts"
import { sqliteAt, temporaryFolder } from "../../../testkit/sqlite.ts"
import { storeDocumentsFixture } from "../../../testkit/storeDocumentsFixture.ts"

/** The documents as a command opens them, beside a service. */
const beside = (path: string) =>
  Layer.effect(
    Documents,
    Effect.andThen(Layer.build(sqliteAt(path, { shards: 1 })), SqliteDocuments.open(path)),
  )

documentsSuite(
  storeDocumentsFixture("a SQLite file beside a service", () => {
    const { database: path, dispose } = temporaryFolder()
    return {
      open: () => beside(path),
      edit: async (sql) => {
        using database = new Database(path)
        database.run(sql)
      },
      dispose,
    }
  }),
)

const document = (id: string) => ({ kind: "keys", id, expectedVersion: 0, value: id, updatedAt: 0 })

test("a service waits while a command holds the write lock, and both see what the other wrote", async () => {
  const { database: path, dispose } = temporaryFolder()
  try {
    await Effect.runPromise(
      Effect.gen(function* () {
        const service = Context.get(yield* Layer.build(sqliteAt(path, { shards: 1 })), Documents)
        const command = yield* SqliteDocuments.open(path)
        const holder = new Database(path)
        holder.run("BEGIN IMMEDIATE")
        const [written] = yield* Effect.all(
          [
            service.put(document("service")),
            // The lock is released while the writer of the service waits for it, or before.
            Effect.andThen(
              service.get("keys", "none"),
              Effect.sync(() => holder.run("ROLLBACK")),
            ),
          ],
          { concurrency: 2 },
        )
        holder.close()
        expect(written).toMatchObject({ value: "service" })
        yield* command.put(document("command"))
        expect(yield* service.get("keys", "command")).toMatchObject({ value: "command" })
        expect(yield* command.get("keys", "service")).toMatchObject({ value: "service" })
      }).pipe(Effect.scoped),
    )
  } finally {
    dispose()
  }
})
