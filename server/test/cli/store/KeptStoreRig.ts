// Shared by tests of commands on a store: the commands as the program composes them, their output, and a store that
// contains every kind of row.
import { Database } from "bun:sqlite"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Documents } from "@punctual/documents/Documents"
import { Effect, type Layer } from "effect"
import type { ServiceSettings } from "../../../src/domain/NamespaceSettings.ts"
import type { Timer } from "../../../src/domain/Timer.ts"
import { SettingsRecords, serviceRecord } from "../../../src/engine/namespaces/SettingsRecords.ts"
import type { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import type { TimerStore } from "../../../src/ports/TimerStore.ts"
import { storeKeeping } from "../../../src/storeKeeping.ts"
import { allStores } from "../../../src/stores/all.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { sqliteAt, sqliteWorkerUrl } from "../../../testkit/sqlite.ts"
import type { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { cancelOf, delivered, outcomeOf, putOf, sampleTimer } from "../../../testkit/timers.ts"
import { type Ended, run } from "../CommandFixture.ts"

export const shards = 4

const keepingWith = (environment: Readonly<Record<string, string>>) =>
  storeKeeping({
    environment: { TIMER_SHARDS: String(shards), ...environment },
    stores: allStores,
    workerUrl: sqliteWorkerUrl,
    installDriver: () => Effect.void,
  })

export const keeping = keepingWith({})

/** Runs `punctual <args>` on stores. */
export const runKeeping = (...args: ReadonlyArray<string>): Promise<Ended> =>
  run(args, { parts: { keeping } })

/** The same with more settings. */
export const runKeepingWith = (
  environment: Readonly<Record<string, string>>,
  ...args: ReadonlyArray<string>
): Promise<Ended> => run(args, { parts: { keeping: keepingWith(environment) } })

export type StoreServices = TimerStore | ShardLeases | Documents

export const storeAt = (url: string): Layer.Layer<StoreServices, { readonly message: string }> =>
  url.startsWith("sqlite:")
    ? sqliteAt(url.slice("sqlite:".length), { shards })
    : PostgresStore.layer({ url, shards, connections: 4 })

/** Opens the store, runs the body with it, and closes it again. */
export const within = <A, E>(url: string, body: Effect.Effect<A, E, StoreServices>): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.provide(body, storeAt(url))))

/** Overwrites a page of an index that only removals use. Only a check of the structure reads it. */
export const damage = (path: string): void => {
  const database = new Database(path)
  const [page] =
    database.query("SELECT rootpage FROM sqlite_schema WHERE name = 'documents_removed'").values()[0] ?? []
  const [pageBytes] = database.query("PRAGMA page_size").values()[0] ?? []
  // Otherwise SQLite would read the page from the log.
  database.query("PRAGMA wal_checkpoint(TRUNCATE)").values()
  database.close()
  const bytes = readFileSync(path)
  bytes.fill(0xa5, (Number(page) - 1) * Number(pageBytes), Number(page) * Number(pageBytes))
  writeFileSync(path, bytes)
}

export interface Filled {
  /** Pending timers, one for each day. The first was due a day ago. */
  readonly pending: ReadonlyArray<Timer>
}

const dayMs = 86_400_000

/** `count` pending timers, one delivered, one cancelled and one dead. Some of them had one attempt. */
export const fill = (url: string, count: number): Promise<Filled> =>
  within(
    url,
    Effect.gen(function* () {
      const { write, leases, epochs } = yield* owned
      const nowMs = Date.now()
      const timers = Array.from({ length: count }, (_, index) =>
        sampleTimer({
          timerId: `t-${index}`,
          executeAt: nowMs + (index - 1) * dayMs,
          createdAt: nowMs - 2 * dayMs,
        }),
      )
      const others = ["delivered", "cancelled", "dead"].map((timerId) => sampleTimer({ timerId }))
      yield* write([...timers, ...others].map((timer) => putOf(timer)))
      const [first, second, third] = others
      if (first === undefined || second === undefined || third === undefined)
        throw new Error("three were made")
      yield* write([
        outcomeOf(first, delivered),
        cancelOf(second),
        outcomeOf(third, { to: "dead", reason: "refused" }),
      ])
      for (const [shard, epoch] of epochs.entries()) yield* leases.release(shard, epoch)
      return { pending: timers }
    }),
  )

/** Names of files that do not exist yet. */
export const filesIn = (folder: TemporaryFolder): (() => string) => {
  let names = 0
  return () => join(folder.path, `${++names}.db`)
}

export const restoredAt = (url: string, ...args: ReadonlyArray<string>): Promise<Ended> =>
  runKeeping("restore", "--store", url, ...args)

/** A backup of a filled store. */
export const backupOf = async (fresh: () => string, count: number): Promise<string> => {
  const [path, file] = [fresh(), fresh()]
  await fill(`sqlite:${path}`, count)
  const { exitCode, err } = await runKeeping("backup", "--store", `sqlite:${path}`, file)
  if (exitCode !== 0) throw new Error(err)
  return file
}

/** The settings of the whole service. */
export const serviceSettingsIn = (url: string): Promise<ServiceSettings> =>
  within(
    url,
    Effect.flatMap(SettingsRecords.make, (namespaces) =>
      Effect.map(namespaces.get(serviceRecord), ({ settings }) => settings),
    ),
  )
