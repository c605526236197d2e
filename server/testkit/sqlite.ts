// SQLite stores in temporary folders, for suites and tests.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { SqliteStore } from "../src/stores/sqlite/SqliteStore.ts"
import type { StoreFixture } from "./StoreFixture.ts"

export const sqliteWorkerUrl = new URL("../src/stores/sqlite/worker.ts", import.meta.url)

export interface TemporaryFolder {
  readonly path: string
  readonly database: string
  readonly dispose: () => void
}

export const temporaryFolder = (): TemporaryFolder => {
  const path = mkdtempSync(join(tmpdir(), "punctual-sqlite-"))
  return {
    path,
    database: join(path, "timers.db"),
    dispose: () => rmSync(path, { recursive: true, force: true }),
  }
}

export const sqliteAt = (path: string, options: { readonly shards: number }) =>
  SqliteStore.layer({ path, shards: options.shards, workerUrl: sqliteWorkerUrl })

export const sqliteFixture: StoreFixture = {
  name: "sqlite",
  fresh: (options) =>
    Layer.unwrap(
      Effect.map(
        Effect.acquireRelease(Effect.sync(temporaryFolder), (folder) => Effect.sync(folder.dispose)),
        (folder) => sqliteAt(folder.database, options),
      ),
    ),
  reopened: (options) => {
    const folder = temporaryFolder()
    return {
      first: sqliteAt(folder.database, options),
      second: sqliteAt(folder.database, options),
      dispose: folder.dispose,
    }
  },
}
