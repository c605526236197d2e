// Punctual's engine in this process, on SQLite in a temporary folder or on a PostgreSQL server of its own: what the
// in-process benchmarks drive.
import { join } from "node:path"
import { makeHandlerDeliverer } from "@punctual/server/deliverers/handler/HandlerDeliverer"
import type { Spec } from "@punctual/server/domain/Timer"
import { defaultEngineOptions, Engine } from "@punctual/server/engine/Engine"
import { NamespaceDirectory } from "@punctual/server/engine/NamespaceDirectory"
import { Scheduler } from "@punctual/server/engine/Scheduler"
import { Deliverers } from "@punctual/server/ports/Deliverer"
import { Ids } from "@punctual/server/ports/Ids"
import type { NamespaceStore } from "@punctual/server/ports/NamespaceStore"
import type { ShardLeases } from "@punctual/server/ports/ShardLeases"
import { TimerStore } from "@punctual/server/ports/TimerStore"
import { WallClock } from "@punctual/server/ports/WallClock"
import { PostgresStore } from "@punctual/server/stores/postgres/PostgresStore"
import { SqliteStore } from "@punctual/server/stores/sqlite/SqliteStore"
import { PostgresServer } from "@punctual/server/testkit/PostgresServer"
import { TemporaryFolder } from "@punctual/server/testkit/TemporaryFolder"
import { Effect, Layer, ManagedRuntime } from "effect"

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

/** To a handler that does nothing. */
const toNothing = Layer.sync(Deliverers, () => {
  const deliverer = makeHandlerDeliverer()
  deliverer.on(namespace, () => {})
  return { byType: new Map([["handler" as const, deliverer]]) }
})

/** A new engine on SQLite, for as long as `use` takes. */
export const withEngine = async <A>(
  use: (engine: EngineOnDisk) => Promise<A>,
  deliverers: DeliverersLayer = toNothing,
): Promise<A> => {
  using folder = new TemporaryFolder()
  const path = join(folder.path, "punctual.db")
  const workerUrl = new URL("../../server/src/stores/sqlite/worker.ts", import.meta.url)
  return await withEngineOn(SqliteStore.layer({ path, shards, workerUrl, onFatal }), use, deliverers)
}

/** The same on a PostgreSQL server with the settings that it comes with, apart from what the guide advises. */
export const withEngineOnPostgres = async <A>(
  use: (engine: EngineOnDisk) => Promise<A>,
  deliverers: DeliverersLayer = toNothing,
): Promise<A> => {
  await using server = await PostgresServer.start("installed", { settings: { autovacuum_naptime: "10s" } })
  const { url } = server.database()
  return await withEngineOn(PostgresStore.layer({ url, shards, onFatal }), use, deliverers)
}

type DeliverersLayer = Layer.Layer<Deliverers, { readonly message: string }>

const onFatal = (message: string) => {
  throw new Error(message)
}

/** Begins once the engine owns all its shards. */
const withEngineOn = async <A>(
  store: Layer.Layer<TimerStore | ShardLeases | NamespaceStore, { readonly message: string }>,
  use: (engine: EngineOnDisk) => Promise<A>,
  deliverers: DeliverersLayer,
): Promise<A> => {
  const layer = Engine.layer(defaultEngineOptions).pipe(
    Layer.provide(NamespaceDirectory.layer()),
    Layer.provideMerge(store),
    Layer.provide([deliverers, WallClock.system, Ids.system]),
  )
  const runtime = ManagedRuntime.make(layer)
  try {
    const services = await runtime.runPromise(
      Effect.gen(function* () {
        const engine = yield* Engine
        yield* Effect.sleep(5).pipe(Effect.repeat({ while: () => engine.status().ownedShards < shards }))
        return { scheduler: yield* Scheduler, store: yield* TimerStore }
      }),
    )
    return await use(services)
  } finally {
    await runtime.dispose()
  }
}

const shards = 16

/** Of all timers of the in-process benchmarks. */
export const namespace = "bench"
