// One run of the service, from an open port to an exit code. The port comes first, so that a busy one is
// reported before the store is touched, and goes last, so that health and metrics answer until the end.

import { OwnerUnavailable } from "@punctual/api/Problem"
import { Deferred, Effect, Layer, type Scope } from "effect"
import { Engine } from "../engine/Engine.ts"
import type { Scheduler } from "../engine/Scheduler.ts"
import { type HttpService, makeHttpService } from "../http/HttpService.ts"
import { type Listening, listen } from "../http/listener/Listener.ts"
import { problemResponse } from "../http/problemResponse.ts"
import { TimerCommands } from "../messaging/TimerCommands.ts"
import type { Deliverers } from "../ports/Deliverer.ts"
import type { WallClock } from "../ports/WallClock.ts"
import type { Configuration } from "./Configuration.ts"

/** Everything below HTTP, put together by main.ts. Its error says in one sentence why it cannot start. */
export type ServiceLayer = Layer.Layer<
  Scheduler | Engine | Deliverers | WallClock | TimerCommands,
  { readonly message: string }
>

export interface ServeOptions {
  readonly configuration: Configuration
  readonly layer: ServiceLayer
  /** Completes when the process is asked to stop. */
  readonly untilAsked: Effect.Effect<unknown>
  /** `isWaiting`: another process owns the store, so that the API answers 503 for now. */
  readonly onListening: (listening: Listening, isWaiting: boolean) => Effect.Effect<void>
}

/** Calls that may be under way at once. Each holds a connection and at most one body. */
const callsMax = 4_096

/** How long answers under way may take to leave once everything else has ended. */
const closeWithinMs = 2_000

export const serve = Effect.fn("serve")(function* (
  options: ServeOptions,
): Effect.fn.Return<void, { readonly message: string }, Scope.Scope> {
  const { configuration } = options
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  let service: HttpService | undefined
  const listening = yield* listen({
    host: configuration.httpHost,
    port: configuration.httpPort,
    handle: (request) => service?.handle(request) ?? Promise.resolve(starting()),
    onDefect: (error) => runFork(Effect.logError("A request failed for an unforeseen reason.", error)),
  })
  const services = yield* Layer.build(options.layer)
  const engine = yield* Effect.provide(Engine, services)
  const commands = yield* Effect.provide(TimerCommands, services)
  const { limits, bodyTimeoutMs, drainMs } = configuration
  const opened = yield* Effect.provide(
    makeHttpService({ limits, bodyTimeoutMs, callsMax, moreMetrics: commands.metrics }),
    services,
  )
  service = opened
  yield* untilOwning(engine)
  yield* Effect.logInfo("listening").pipe(Effect.annotateLogs({ url: listening.url, port: listening.port }))
  yield* options.onListening(listening, engine.status().isWaiting)

  yield* options.untilAsked
  yield* Effect.logInfo("draining")
  opened.close()
  yield* commands.stop
  yield* engine.drain(drainMs)
  yield* listening.close(closeWithinMs)
  yield* Effect.logInfo("stopped")
})

/**
 * Completes at the first signal to stop. Later ones change nothing: a signal to a process group arrives
 * more than once, and a drain must not be cut short by that.
 */
export const untilSignal: Effect.Effect<Effect.Effect<void>, never, Scope.Scope> = Effect.gen(function* () {
  const asked = yield* Deferred.make<void>()
  const context = yield* Effect.context<never>()
  const onSignal = () => {
    Effect.runForkWith(context)(Deferred.succeed(asked, undefined))
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      process.on("SIGTERM", onSignal)
      process.on("SIGINT", onSignal)
    }),
    () =>
      Effect.sync(() => {
        process.off("SIGTERM", onSignal)
        process.off("SIGINT", onSignal)
      }),
  )
  return Deferred.await(asked)
})

/** Shards that are free are claimed at once, so a start that is announced can be used; others are waited for. */
const untilOwning = (engine: Engine["Service"]): Effect.Effect<void> =>
  Effect.sleep(5).pipe(
    Effect.repeat({
      while: () => {
        const { ownedShards, shards } = engine.status()
        return ownedShards < Math.max(1, shards)
      },
    }),
    Effect.timeoutOption(ownWithinMs),
    Effect.asVoid,
  )

const ownWithinMs = 500

const starting = (): Response =>
  problemResponse(
    new OwnerUnavailable({ detail: "The service is starting: try again.", retryAfterSeconds: 1 }),
    { closes: true },
  )
