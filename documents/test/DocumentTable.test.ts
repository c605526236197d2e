// The SQLite table on a file of its own, without the threads of a store, and the query plans of its statements.
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { documentsOver } from "../src/DocumentRows.ts"
import type { Documents } from "../src/Documents.ts"
import { DocumentTable, documentSql } from "../src/sqlite/DocumentTable.ts"
import schema from "../src/sqlite/schema.sql" with { type: "text" }
import { documentsSuite } from "../testkit/Documents.suite.ts"

const documentsOf = (database: Database): Documents["Service"] => {
  const table = new DocumentTable(database)
  return documentsOver({
    write: (asked) => Effect.sync(() => table.write(asked, (work) => database.transaction(work).immediate())),
    get: (kind, id) => Effect.sync(() => table.get(kind, id)),
    list: (range) => Effect.sync(() => table.list(range)),
    changesAfter: (kind, version, limit) => Effect.sync(() => table.changesAfter(kind, version, limit)),
  })
}

const opened = (path: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new Database(path, { create: true, strict: true })),
    (database) => Effect.sync(() => database.close()),
  )

documentsSuite({
  name: "sqlite",
  fresh: Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "punctual-documents-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true })),
    )
    const path = join(folder, "documents.db")
    const database = yield* opened(path)
    database.run(schema)
    return {
      documents: documentsOf(database),
      damage: (kind, id, text) =>
        Effect.sync(() => {
          database.run("UPDATE documents SET json = ?1 WHERE kind = ?2 AND id = ?3", [text, kind, id])
        }),
      reopened: Effect.suspend(() => {
        database.close()
        return Effect.map(opened(path), documentsOf)
      }),
    }
  }),
})

describe("statements of documents on SQLite", () => {
  test("use their intended index, and none sorts or scans", () => {
    using database = new Database(":memory:")
    database.run(schema)
    const planOf = (text: string): string =>
      database
        .query(`EXPLAIN QUERY PLAN ${text}`)
        .values(...Array.from({ length: new Set(text.match(/\?\d+/g)).size }, () => 1))
        .map((row) => String(row[3]))
        .join("; ")
    const byKey = "INDEX sqlite_autoindex_documents_1"
    const meant = {
      get: `${byKey} (kind=? AND id=?)`,
      list: `${byKey} (kind=? AND id>? AND id<?)`,
      changes: "INDEX documents_by_version (kind=? AND version>?)",
      clear: "INDEX documents_removed (updated_at<?)",
    } as const
    for (const name of ["get", "list", "changes", "clear"] as const) {
      const plan = planOf(documentSql[name])
      expect(plan).toContain(meant[name])
      expect(plan).not.toMatch(/SCAN|TEMP B-TREE/)
    }
  })
})
