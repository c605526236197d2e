// One run of the service, from an open port to an exit code. The port is opened first, so that a port that is in use is
// reported before the store is touched. It is closed last, so that health and metrics answer until the end.

import { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import type { AuditTrail } from "@punctual/door/AuditTrail"
import { Gate } from "@punctual/door/Gate"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { readTlsPair, type TlsPair } from "@punctual/door/TlsPair"
import { type Listening, listen } from "@punctual/http/listener/Listener"
import type { PagePack } from "@punctual/http/pages/PagePack"
import { renewCertificate } from "@punctual/http/renewCertificate"
import { Cause, Deferred, Effect, Layer, Option, type Scope } from "effect"
import type { BulkJobs } from "./bulk/BulkJobs.ts"
import { ActivityLog } from "./engine/activity/ActivityLog.ts"
import { Engine, type EngineStatus } from "./engine/Engine.ts"
import { Scheduler } from "./engine/front/Scheduler.ts"
import type { NamespaceDirectory } from "./engine/namespaces/NamespaceDirectory.ts"
import { type HttpService, type HttpServiceOptions, makeHttpService } from "./http/HttpService.ts"
import { namePrefix } from "./http/namePrefix.ts"
import { makePageRoutes } from "./http/PageRoutes.ts"
import { makeStartingService } from "./http/StartingService.ts"
import { TimerCommands } from "./messaging/TimerCommands.ts"
import { makePeerRoutes, peerPath } from "./peers/http/peerRoutes.ts"
import { RunningCompanion } from "./ports/Companion.ts"
import type { Deliverers } from "./ports/Deliverer.ts"
import { PeerActivity } from "./ports/PeerActivity.ts"
import { PeerEvents } from "./ports/PeerEvents.ts"
import { ShardLags } from "./ports/ShardLags.ts"
import { WallClock } from "./ports/WallClock.ts"
import type { Configuration } from "./settings/Configuration.ts"
import { settings } from "./settings/Settings.ts"
import { whyNoKey } from "./settings/whyNoKey.ts"
import { ClockWatch } from "./stores/ClockWatch.ts"

/**
 * Everything below HTTP, assembled by service.ts. Its error says in one sentence why the service cannot start. If
 * several nodes share a store, it includes the communication between them.
 */
export type ServiceLayer = Layer.Layer<
  | Scheduler
  | Engine
  | NamespaceDirectory
  | KeyDirectory
  | Deliverers
  | WallClock
  | TimerCommands
  | UndeliverableMessages
  | AuditTrail
  | BulkJobs
  | ActivityLog,
  { readonly message: string }
>

/** The service when it has started. */
export interface Started {
  readonly listening: Listening
  readonly status: EngineStatus
  /** Whether calls need a key. */
  readonly needsKey: boolean
  /** What a companion says about its start; empty if there is none. */
  readonly companionLines: string
}

export interface ServeOptions {
  readonly configuration: Configuration
  /** Created when the listening address is known, because other nodes are told the address. */
  readonly layer: (listening: Listening) => ServiceLayer
  /** The pages of the console, if they were built. */
  readonly pages?: PagePack
  /** The documentation, if it was built. */
  readonly docs?: PagePack
  /** The program and its settings, for operators. */
  readonly about?: HttpServiceOptions["about"]
  /** Completes when the process is asked to stop. */
  readonly untilAsked: Effect.Effect<unknown>
  /** `status.isWaiting`: this process does not own its shards yet, and `waitsFor` says why. */
  readonly onListening: (started: Started) => Effect.Effect<void>
}

/** The limit of concurrent calls. Each holds a connection and at most one body. */
const callsMax = 4_096

/** How long a node of a cluster keeps reporting that it stops, after its shards are handed over. */
const noticedWithinMs = 1_000

/** How long open responses may take to be sent after everything else has ended. */
const closeWithinMs = 2_000

export const serve = Effect.fn("serve")(function* (
  options: ServeOptions,
): Effect.fn.Return<void, { readonly message: string }, Scope.Scope> {
  const { configuration } = options
  const context = yield* Effect.context<never>()
  const runFork = Effect.runForkWith(context)
  const { limits, bodyTimeoutMs, drainMs } = configuration
  const { tls, ...guard } = configuration.door
  const pageRoutes = yield* makePageRoutes({
    limits,
    ...(options.pages === undefined ? {} : { pages: options.pages }),
    ...(options.docs === undefined ? {} : { docs: options.docs }),
  })
  let service: Pick<HttpService, "handle"> = yield* makeStartingService({ guard, pageRoutes })
  const certificate = yield* certificateOf(configuration)
  const listening = yield* listen({
    namePrefix,
    host: configuration.httpHost,
    port: configuration.httpPort,
    ...(certificate === undefined ? {} : { certificate }),
    handle: (request) => service.handle(request),
    onDefect: (error) =>
      runFork(Effect.logError("A request failed for an unexpected reason.", Cause.die(error))),
    limits: {
      connectionsMax: configuration.maxConnections,
      connectionsPerAddressMax: configuration.maxConnectionsPerAddress,
    },
  })
  if (tls !== undefined && certificate !== undefined) {
    yield* Effect.forkScoped(
      renewCertificate({ namePrefix, files: tls, pair: certificate, use: listening.useCertificate }),
    )
  }
  const services = yield* Layer.build(options.layer(listening))
  const engine = yield* Effect.provide(Engine, services)
  const commands = yield* Effect.provide(TimerCommands, services)
  const cluster = yield* Effect.provide(clusterOf(configuration), services)
  const keys = yield* Effect.provide(keysOf(configuration, listening), services)
  const opened = yield* Effect.provide(
    makeHttpService({
      limits,
      bodyTimeoutMs,
      freeMemory: listening.freeMemory,
      callsMax,
      guard,
      moreMetrics: commands.metrics,
      messages: yield* Effect.provide(UndeliverableMessages, services),
      whyNotReady: () => {
        const why = commands.whyWaiting()
        return why === undefined ? undefined : `The message broker is unreachable: ${why}`
      },
      keys,
      metricsAreOpen: configuration.metricsAccess === "open",
      pageRoutes,
      ...(options.about === undefined ? {} : { about: options.about }),
      ...cluster,
    }),
    services,
  )
  service = opened
  yield* untilOwning(engine)
  yield* Effect.logInfo("listening").pipe(Effect.annotateLogs({ url: listening.url, port: listening.port }))
  if (listening.connectionsMax < configuration.maxConnections) {
    yield* Effect.logWarning(
      `The system allows this process so few open files that it accepts at most ${listening.connectionsMax} connections instead of ${configuration.maxConnections}: raise the limit (ulimit -n), or lower ${settings.maxConnections.name}.`,
    )
  }
  const companion = Option.getOrUndefined(
    yield* Effect.provide(Effect.serviceOption(RunningCompanion), services),
  )
  const companionLines = companion === undefined ? "" : yield* companion.open
  const needsKey = keys.gate.isClosed
  yield* options.onListening({ listening, status: engine.status(), needsKey, companionLines })

  yield* options.untilAsked
  yield* Effect.logInfo("draining")
  if (companion !== undefined) yield* companion.drain(drainMs)
  opened.close()
  yield* commands.stop
  // If other nodes can answer instead, a load balancer gets time to notice the stop by /health/ready.
  const noticeMs = configuration.cluster === undefined ? 0 : Math.min(drainMs, noticedWithinMs)
  yield* Effect.all([engine.drain(drainMs), Effect.sleep(noticeMs)], { concurrency: 2, discard: true })
  yield* listening.close(closeWithinMs)
  yield* Effect.logInfo("stopped")
})

/** The keys of the service. Fails if the service must not start without a key. */
const keysOf = (configuration: Configuration, { port }: Listening) =>
  Effect.gen(function* () {
    const keys = yield* KeyDirectory
    const { now } = yield* WallClock
    const { auth, httpHost } = configuration
    const message = whyNoKey({
      auth,
      httpHost,
      isLoopback: configuration.door.isOnLoopback,
      hasHadKey: keys.hasHadKey(),
    })
    if (message !== undefined) return yield* Effect.fail({ message })
    if (auth === "off") {
      yield* Effect.logWarning(
        `${settings.auth.name} is off: everyone who reaches ${httpHost}:${port} can do everything`,
      )
    }
    const gate = new Gate({ keys, mode: auth, nowMs: now })
    if (gate.isClosed && !keys.hasAdministrator(now())) {
      yield* Effect.logWarning(
        `calls need a key, and no administrator's key works: set ${settings.adminKeyFile.name}, or make one with punctual keys create --admin`,
      )
    }
    return { keys, gate }
  })

/** A node that stops is no longer a member, and for a while it still passes requests on. */
const unsignedGraceMs = 60_000

/** The settings were checked with these files a moment ago, but the files may have changed since. */
const certificateOf = ({
  door,
}: Configuration): Effect.Effect<TlsPair | undefined, { readonly message: string }> =>
  Effect.suspend(() => {
    const read = door.tls === undefined ? undefined : readTlsPair(door.tls)
    if (read === undefined || !("problem" in read)) return Effect.succeed(read)
    const { name } = read.file === "cert" ? settings.tlsCertFile : settings.tlsKeyFile
    return Effect.fail({ message: `${name} ${read.problem}.` })
  })

/** What HTTP needs to know if several nodes share the store. */
const clusterOf = (
  configuration: Configuration,
): Effect.Effect<Pick<HttpServiceOptions, "cluster">, never, Scheduler | Engine | ActivityLog> =>
  Effect.gen(function* () {
    if (configuration.cluster === undefined) return {}
    const engine = yield* Engine
    const clock = yield* Effect.serviceOption(ClockWatch)
    const handle = yield* makePeerRoutes({
      node: engine.cluster().node,
      scheduler: yield* Scheduler,
      nudge: Effect.sync(() => engine.lookNow()),
      events: engine.events,
      activity: (yield* ActivityLog).unstored,
      lags: () =>
        engine
          .cluster()
          .shards.flatMap(({ shard, epoch, lagMs }) =>
            lagMs === undefined ? [] : [{ shard, epoch, lagMs: Math.max(0, Math.round(lagMs)) }],
          ),
      secret: configuration.cluster.secret,
      isSecretAccepted: () => (engine.cluster().unsignedAgeMs ?? Number.POSITIVE_INFINITY) <= unsignedGraceMs,
    })
    return {
      cluster: {
        peers: { prefix: peerPath, handle },
        lags: Option.getOrUndefined(yield* Effect.serviceOption(ShardLags)),
        events: Option.getOrUndefined(yield* Effect.serviceOption(PeerEvents)),
        activity: Option.getOrUndefined(yield* Effect.serviceOption(PeerActivity)),
        clockOffsetMs: () => (Option.isSome(clock) ? clock.value.offsetMs() : undefined),
      },
    }
  })

/**
 * Completes at the first signal to stop. Later signals change nothing: a signal to a process group can arrive more than
 * once, and that must not cut a drain short.
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

/**
 * Free shards are claimed at once, so the service is usable when its start is announced. Shards of other nodes are not
 * waited for.
 */
const untilOwning = (engine: Engine["Service"]): Effect.Effect<void> =>
  Effect.sleep(5).pipe(
    Effect.repeat({
      while: () => {
        const { ownedShards, shardsElsewhere, shards } = engine.status()
        return ownedShards + shardsElsewhere < Math.max(1, shards)
      },
    }),
    Effect.timeoutOption(ownWithinMs),
    Effect.asVoid,
  )

/** The service already answers. Only the announcement of its start waits for this long. */
const ownWithinMs = 5_000
