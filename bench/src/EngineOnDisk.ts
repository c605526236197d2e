// Punctual's engine in this process, on SQLite in a temporary folder: what the in-process benchmarks drive.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Spec } from "@punctual/server/domain/Timer"
import { defaultEngineOptions, Engine } from "@punctual/server/engine/Engine"
import { Scheduler } from "@punctual/server/engine/Scheduler"
import { type Deliverer, Deliverers } from "@punctual/server/ports/Deliverer"
import { Ids } from "@punctual/server/ports/Ids"
import { TimerStore } from "@punctual/server/ports/TimerStore"
import { WallClock } from "@punctual/server/ports/WallClock"
import { SqliteStore } from "@punctual/server/stores/sqlite/SqliteStore"
import { Effect, Layer, ManagedRuntime } from "effect"

export interface EngineOnDisk {
  readonly scheduler: Scheduler["Service"]
  readonly engine: Engine["Service"]
  readonly store: TimerStore["Service"]
  readonly folder: string
  close(): Promise<void>
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

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), "punctual-bench-"))

/** An engine that owns all its shards. */
export const openEngine = async (deliverer: Deliverer, folder = temporaryFolder()): Promise<EngineOnDisk> => {
  const store = SqliteStore.layer({
    path: join(folder, "punctual.db"),
    shards: 16,
    workerUrl: new URL("../../server/src/stores/sqlite/worker.ts", import.meta.url),
    onFatal: (message) => {
      throw new Error(message)
    },
  })
  const layer = Engine.layer(defaultEngineOptions).pipe(
    Layer.provideMerge(store),
    Layer.provide([
      Layer.succeed(Deliverers, { byType: new Map([["handler" as const, deliverer]]) }),
      WallClock.system,
      Ids.system,
    ]),
  )
  const runtime = ManagedRuntime.make(layer)
  const services = await runtime.runPromise(
    Effect.gen(function* () {
      const engine = yield* Engine
      yield* Effect.sleep(5).pipe(Effect.repeat({ while: () => engine.status().ownedShards < 16 }))
      return { engine, scheduler: yield* Scheduler, store: yield* TimerStore }
    }),
  )
  return {
    ...services,
    folder,
    close: async () => {
      await runtime.dispose()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
