// Part of the composition root: which adapter serves the commands that work on the store itself. Only a store that is a
// file can be copied as one; what a database server does better by its own means is refused, with the means named.
import { hostname } from "node:os"
import { Context, Effect, Layer } from "effect"
import type { OpenCopies } from "./cli/backup.ts"
import type { OpenExamination } from "./cli/doctor.ts"
import type { OpenSchema } from "./cli/migrate.ts"
import type { OpenRestoreTarget } from "./cli/restore.ts"
import { type StoreChoice, storeUrlShown } from "./cli/StoreChoice.ts"
import { Ids } from "./ports/Ids.ts"
import { NamespaceStore } from "./ports/NamespaceStore.ts"
import { ShardLeases } from "./ports/ShardLeases.ts"
import { TimerStore } from "./ports/TimerStore.ts"
import { PostgresKeeper } from "./stores/postgres/PostgresKeeper.ts"
import { PostgresStore } from "./stores/postgres/PostgresStore.ts"
import { SqliteKeeper } from "./stores/sqlite/SqliteKeeper.ts"
import { SqliteStore } from "./stores/sqlite/SqliteStore.ts"

type Failure = { readonly message: string }

/** A store that a command can work on. */
export type KeptStore = Exclude<StoreChoice, { readonly kind: "memory" }>

export interface StoreKeepingOptions {
  /** The store that the flag names, or the settings. */
  readonly storeOf: (
    storeUrl: string | undefined,
  ) => Effect.Effect<{ readonly store: KeptStore; readonly shards: number }, Failure>
  /** The file stores/sqlite/worker.ts, formed in the program's entry. */
  readonly workerUrl: URL
}

export const storeKeeping = ({ storeOf, workerUrl }: StoreKeepingOptions) => {
  const examination: OpenExamination = (storeUrl) =>
    Effect.gen(function* () {
      const { store } = yield* storeOf(storeUrl)
      const { examine } = yield* store.kind === "postgres"
        ? PostgresKeeper.examination(store.url, () => Date.now())
        : SqliteKeeper.examination({ path: store.path, workerUrl })
      return { shown: shown(store), examine }
    })

  const copies: OpenCopies = (storeUrl) =>
    Effect.gen(function* () {
      const { store } = yield* storeOf(storeUrl)
      if (store.kind === "postgres") return yield* Effect.fail({ message: noCopy })
      return yield* SqliteKeeper.copies({ path: store.path, workerUrl })
    })

  const schema: OpenSchema = (storeUrl) =>
    Effect.gen(function* () {
      const { store, shards } = yield* storeOf(storeUrl)
      const { versions, migrate } = yield* store.kind === "postgres"
        ? PostgresKeeper.schema(store.url, shards)
        : SqliteKeeper.schema({ path: store.path, workerUrl, shards })
      return { shown: shown(store), versions, migrate }
    })

  const restoreTarget: OpenRestoreTarget = (storeUrl) =>
    Effect.gen(function* () {
      const { store, shards } = yield* storeOf(storeUrl)
      const place =
        store.kind === "postgres"
          ? Effect.fail({ message: noPlace })
          : SqliteKeeper.place({ path: store.path, workerUrl })
      return {
        place,
        shards,
        settingsIn: (file, shardsInFile) =>
          Effect.map(
            Layer.build(SqliteStore.layer({ path: file, shards: shardsInFile, workerUrl })),
            Context.get(NamespaceStore),
          ),
        settling: settling(store, shards, workerUrl),
      }
    })

  return { examination, copies, schema, restoreTarget }
}

const settling = (store: KeptStore, shards: number, workerUrl: URL) =>
  Effect.gen(function* () {
    const services = yield* Layer.build(Layer.merge(storeLayer(store, shards, workerUrl), Ids.system))
    return {
      store: Context.get(services, TimerStore),
      leases: Context.get(services, ShardLeases),
      namespaces: Context.get(services, NamespaceStore),
      ids: Context.get(services, Ids),
      node: `restore:${hostname()}:${process.pid}`,
    }
  })

const storeLayer = (
  store: KeptStore,
  shards: number,
  workerUrl: URL,
): Layer.Layer<TimerStore | ShardLeases | NamespaceStore, Failure> =>
  store.kind === "postgres"
    ? PostgresStore.layer({ url: store.url, shards, connections: 4 })
    : SqliteStore.layer({ path: store.path, shards, workerUrl })

const shown = (store: KeptStore): string =>
  store.kind === "postgres" ? storeUrlShown(store.url) : `sqlite:${store.path}`

const noCopy =
  "a store on PostgreSQL is backed up by PostgreSQL's own means: pg_dump --schema=punctual, or a backup of the " +
  "server. To carry timers elsewhere: punctual export."

const noPlace =
  "a store on PostgreSQL is restored by PostgreSQL's own means, such as pg_restore, with every service stopped. " +
  "Then say what becomes of what fell due since: punctual restore --force --due-before now fire|dead|discard."
