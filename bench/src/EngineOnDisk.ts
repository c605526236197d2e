// Punctual's engine in this process, on an SQLite file, on a PostgreSQL server, or on the store of a URL. The in-process
// benchmarks use it.
import { join } from "node:path"
import type { Documents } from "@punctual/documents/Documents"
import type { Spec } from "@punctual/server/domain/Timer"
import { defaultEngineOptions, Engine } from "@punctual/server/engine/Engine"
import { Scheduler } from "@punctual/server/engine/front/Scheduler"
import { NamespaceDirectory } from "@punctual/server/engine/namespaces/NamespaceDirectory"
import { parseUrl } from "@punctual/server/ports/Adapter"
import type { Deliverers } from "@punctual/server/ports/Deliverer"
import { Ids } from "@punctual/server/ports/Ids"
import type { ShardLeases } from "@punctual/server/ports/ShardLeases"
import { TimerStore } from "@punctual/server/ports/TimerStore"
import { WallClock } from "@punctual/server/ports/WallClock"
import { allStores } from "@punctual/server/stores/all"
import { PostgresStore } from "@punctual/server/stores/postgres/PostgresStore"
import { SqliteStore } from "@punctual/server/stores/sqlite/SqliteStore"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect, Layer, ManagedRuntime } from "effect"
import { startPostgres } from "./BenchPostgres.ts"
import type { StoreKind } from "./Service.ts"

export interface EngineOnDisk {
  readonly scheduler: Scheduler["Service"]
  readonly store: TimerStore["Service"]
}

export const handlerSpec: Spec = {
  target: { type: "handler" },
  retryPolicy: {
    maxAttempts: 10,
    initialIntervalMs: 5_000,
    backoffMultiplier: 4,
    maxIntervalMs: 28_800_000,
    jitter: 0.2,
  },
}

/** A store that the service can use, by its URL. */
export interface StoreByUrl {
  readonly url: string
  readonly shards: number
}

export type EngineKind = StoreKind | StoreByUrl

export interface OpenEngine extends AsyncDisposable {
  readonly engine: EngineOnDisk
}

/** Opens an engine. `place` is the path of an SQLite file or the URL of a PostgreSQL database. */
export const openEngine = async (
  kind: EngineKind,
  place: string,
  deliverers: DeliverersLayer,
): Promise<OpenEngine> => {
  const runtime = ManagedRuntime.make(
    Engine.layer(defaultEngineOptions).pipe(
      Layer.provide(NamespaceDirectory.layer()),
      Layer.provideMerge(storeAt(kind, place)),
      Layer.provide([deliverers, WallClock.system, Ids.system]),
    ),
  )
  const all = typeof kind === "string" ? shards : kind.shards
  const owningAll = Effect.gen(function* () {
    const engine = yield* Engine
    yield* Effect.sleep(5).pipe(Effect.repeat({ while: () => engine.status().ownedShards < all }))
    return { scheduler: yield* Scheduler, store: yield* TimerStore }
  })
  try {
    const engine = await runtime.runPromise(owningAll)
    return { engine, [Symbol.asyncDispose]: () => runtime.dispose() }
  } catch (error) {
    await runtime.dispose()
    throw error
  }
}

/** Opens a new engine on a new store, runs `use`, and closes the engine. */
export const withEngine = async <A>(
  kind: StoreKind,
  use: (engine: EngineOnDisk) => Promise<A>,
  deliverers: DeliverersLayer,
): Promise<A> => {
  await using stack = new AsyncDisposableStack()
  const place = await newPlace(kind, stack)
  const { engine } = stack.use(await openEngine(kind, place, deliverers))
  return await use(engine)
}

/** A place without a store. The stack removes it. */
export const newPlace = async (kind: StoreKind, stack: AsyncDisposableStack): Promise<string> =>
  kind === "sqlite"
    ? join(stack.use(new TemporaryFolder()).path, "punctual.db")
    : stack.use(await startPostgres()).database().url

export type DeliverersLayer = Layer.Layer<Deliverers, { readonly message: string }>

const storeAt = (
  kind: EngineKind,
  place: string,
): Layer.Layer<TimerStore | ShardLeases | Documents, { readonly message: string }> => {
  if (kind === "sqlite") return SqliteStore.layer({ path: place, shards, workerUrl, onFatal })
  if (kind === "postgres") return PostgresStore.layer({ url: place, shards, onFatal })
  const parsed = parseUrl(allStores, kind.url)
  if (!("value" in parsed)) throw new Error(`the URL of the store ${parsed.problem}`)
  return parsed.value.open({ shards: kind.shards, workerUrl, onFatal })
}

const workerUrl = new URL("../../server/src/stores/sqlite/worker.ts", import.meta.url)

const onFatal = (message: string) => {
  throw new Error(message)
}

const shards = 16

/** The namespace of all timers of the in-process benchmarks. */
export const namespace = "bench"
