// SQLite as a store: one file, used by one service at a time. Its threads load the database library; the main thread of
// a service does not need it.
import { resolve } from "node:path"
import { Effect, Layer } from "effect"
import type { StoreAdapter, StoreChoice, StoreLayer, StoreOpening } from "../../ports/StoreAdapter.ts"
import { sqliteKeyFile } from "./SqliteKeyFile.ts"

const scheme = "sqlite:"

/** Matches the path of a file, and no text that may be a password: it has a folder or the extension of a database. */
const pathShape = /^(?=.*\/|.*\.(?:db|sqlite3?)$)[\w./ -]{1,200}$/

export const sqlite: StoreAdapter = {
  name: "sqlite",
  schemes: [scheme],
  forms: { "sqlite:<file>": "one file, for one node" },
  isShared: false,
  parse: (url) => {
    const path = url.slice(scheme.length).replace(/^\/\//, "")
    return path === "" || path === ":memory:"
      ? { problem: "must name a file, such as sqlite:./data/punctual.db (memory: stores nothing on disk)" }
      : { value: choiceOf(resolve(path)) }
  },
  meant: (text) => (pathShape.test(text) ? `${scheme}${text}` : undefined),
  /** The name of a file contains no credentials. */
  shown: (url) => url,
}

const choiceOf = (path: string): StoreChoice => ({
  adapter: sqlite,
  shown: `${scheme}${path}`,
  place: path,
  open: (opening) => layerOf(path, opening),
  offline: { can: (opening) => layerOf(path, opening) },
  archive: {
    can: () =>
      Effect.flatMap(
        Effect.promise(() => import("./SqliteArchive.ts")),
        ({ SqliteArchive }) => SqliteArchive.open(path),
      ),
  },
  documents: {
    can: () =>
      Effect.flatMap(
        Effect.promise(() => import("./SqliteDocuments.ts")),
        ({ SqliteDocuments }) => SqliteDocuments.open(path),
      ),
  },
  doctor: {
    can: ({ workerUrl }) =>
      Effect.flatMap(keeper, ({ SqliteKeeper }) => SqliteKeeper.examination({ path, workerUrl })),
  },
  backup: {
    can: ({ workerUrl }) =>
      Effect.flatMap(keeper, ({ SqliteKeeper }) => SqliteKeeper.copies({ path, workerUrl })),
  },
  restore: {
    can: {
      place: ({ workerUrl }) =>
        Effect.flatMap(keeper, ({ SqliteKeeper }) => SqliteKeeper.place({ path, workerUrl })),
      prepared: layerOf,
    },
  },
  migrate: {
    can: ({ shards, workerUrl }) =>
      Effect.flatMap(keeper, ({ SqliteKeeper }) => SqliteKeeper.schema({ path, workerUrl, shards })),
  },
  sealingKey: { can: sqliteKeyFile(path) },
})

const layerOf = (path: string, { shards, workerUrl, onFatal }: StoreOpening): StoreLayer =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./SqliteStore.ts")),
      ({ SqliteStore }) =>
        SqliteStore.layer({ path, shards, workerUrl, ...(onFatal === undefined ? {} : { onFatal }) }),
    ),
  )

const keeper = Effect.promise(() => import("./SqliteKeeper.ts"))
