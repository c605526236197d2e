// The composition root: configuration picks layers here, and nowhere else. Whatever keeps the service
// from starting is told in one line and an exit code: 1 if it could not start or had to end, 2 if it was
// called wrongly.
import "effect/schema/SchemaJITCompiler/enable"
import { randomBytes } from "node:crypto"
import { writeSync } from "node:fs"
import { hostname } from "node:os"
import { Cause, Context, Effect, Exit, Layer, Result } from "effect"
import { defaultIntakeOptions } from "./buses/Intake.ts"
import { LocalBus } from "./buses/local/LocalBus.ts"
import { NatsBus } from "./buses/nats/NatsBus.ts"
import { NatsDeadLetters } from "./buses/nats/NatsDeadLetters.ts"
import { build, versionJson, versionLine } from "./cli/Build.ts"
import { type Configuration, readConfiguration, readStore } from "./cli/Configuration.ts"
import type { OpenDeadLetters } from "./cli/dlq.ts"
import type { OpenArchive } from "./cli/exportArchive.ts"
import type { OpenImportTarget } from "./cli/importArchive.ts"
import { urlName } from "./cli/Settings.ts"
import { nodeUrl, type StoreChoice, storeUrlShown } from "./cli/StoreChoice.ts"
import { type ServiceLayer, serve, untilSignal } from "./cli/serve.ts"
import { makeEventDeliverer } from "./deliverers/event/EventDeliverer.ts"
import { makeWebhookDeliverer } from "./deliverers/webhook/WebhookDeliverer.ts"
import type { Target } from "./domain/Timer.ts"
import { defaultEngineOptions, Engine, type EngineOptions, type EngineStatus } from "./engine/Engine.ts"
import { NamespaceDirectory } from "./engine/NamespaceDirectory.ts"
import type { Listening } from "./http/listener/Listener.ts"
import { layerLogs } from "./Logs.ts"
import { TimerCommands } from "./messaging/TimerCommands.ts"
import { HttpPeers } from "./peers/http/HttpPeers.ts"
import { Bus, BusError } from "./ports/Bus.ts"
import { type Deliverer, Deliverers } from "./ports/Deliverer.ts"
import { Ids } from "./ports/Ids.ts"
import { NamespaceStore } from "./ports/NamespaceStore.ts"
import { ShardLeases } from "./ports/ShardLeases.ts"
import { TimerRestore } from "./ports/TimerArchive.ts"
import type { TimerStore } from "./ports/TimerStore.ts"
import { WallClock } from "./ports/WallClock.ts"
import { storeKeeping } from "./storeKeeping.ts"
import { ClockWatch } from "./stores/ClockWatch.ts"
import { MemoryStore } from "./stores/memory/MemoryStore.ts"
import { PostgresArchive } from "./stores/postgres/PostgresArchive.ts"
import { PostgresStore } from "./stores/postgres/PostgresStore.ts"
import { SqliteStore } from "./stores/sqlite/SqliteStore.ts"

// Formed here, so that a compiled executable finds it.
const sqliteWorkerUrl = new URL("./stores/sqlite/worker.ts", import.meta.url)

const onFatal = (message: string) => fail(`The store has failed, so the service ends: ${message}`)

type StoreLayer = Layer.Layer<TimerStore | ShardLeases | NamespaceStore, { readonly message: string }>

const storeLayer = ({ store, shards }: Configuration): StoreLayer => {
  switch (store.kind) {
    case "memory":
      return MemoryStore.layer({ shards })
    case "sqlite":
      return SqliteStore.layer({ path: store.path, shards, workerUrl: sqliteWorkerUrl, onFatal })
    case "postgres":
      // Beside the store itself, its clock is watched.
      return Layer.provideMerge(
        ClockWatch.layer,
        PostgresStore.layer({ url: store.url, shards, onFatal }),
      ).pipe(Layer.provide(WallClock.system))
  }
}

/** The ways to other nodes, where there are any. */
const peersLayer = ({ cluster }: Configuration): Layer.Layer<never> =>
  cluster === undefined ? Layer.empty : HttpPeers.layer({ secret: cluster.secret, timeoutMs: peerTimeoutMs })

const peerTimeoutMs = 2_000

/** A manual clock begins where it is told to, or at the real time; from then on it stands until it is moved. */
const manualStartMs = ({ clock }: Configuration): number | undefined =>
  clock.kind === "manual" ? (clock.startMs ?? processStartMs) : undefined

const processStartMs = Date.now()

const clockLayer = (configuration: Configuration): Layer.Layer<WallClock> => {
  const startMs = manualStartMs(configuration)
  return startMs === undefined ? WallClock.system : WallClock.manual(startMs)
}

const clockShown = (startMs: number): string =>
  `the clock stands at ${new Date(startMs).toISOString()}; move it by /api/v1/clock/advance`

const busLayer = ({ broker }: Configuration) =>
  broker.kind === "local"
    ? LocalBus.layer()
    : NatsBus.layer({ ...broker, ...brokerBounds, intake: defaultIntakeOptions })

const brokerBounds = { connectTimeoutMs: 10_000, publishTimeoutMs: 10_000 }

const deliverersLayer = ({ egress, limits, broker }: Configuration) =>
  Layer.effect(
    Deliverers,
    Effect.gen(function* () {
      const bus = yield* Bus
      const directory = yield* NamespaceDirectory
      const webhook = makeWebhookDeliverer({
        egress,
        payloadBytes: limits.payloadBytes,
        secretsOf: (namespace) => directory.of(namespace).secrets,
        onSecretsChange: directory.onChange,
      })
      const byType = new Map<Target["type"], Deliverer>([["webhook", webhook]])
      // On the local bus nobody listens but this process: an event would be told to nobody.
      if (broker.kind !== "local") byType.set("event", makeEventDeliverer(bus))
      return { byType }
    }),
  )

/** Unlike that of any other node, and of this one's own predecessor. */
const nodeName = ({ nodeName: given }: Configuration): string =>
  given ?? `${hostname()}:${process.pid}-${randomBytes(2).toString("hex")}`

const engineOptions = (configuration: Configuration, { port }: Listening): EngineOptions => ({
  ...defaultEngineOptions,
  ownership: {
    ...defaultEngineOptions.ownership,
    node: nodeName(configuration),
    address: configuration.cluster === undefined ? "" : nodeUrl(configuration.cluster.address, port),
  },
  pollingIntervalMs: configuration.pollingIntervalMs,
  window: { ...defaultEngineOptions.window, page: configuration.batchSize },
  dispatch: {
    ...defaultEngineOptions.dispatch,
    inFlight: configuration.maxInFlight,
    inFlightPerNamespace: configuration.maxInFlightPerNamespace,
    inFlightPerHost: configuration.maxInFlightPerHost,
  },
  historyRetentionMs: configuration.historyRetentionMs,
  onBroken: (message) => fail(`The engine has failed, so the service ends: ${message}`),
})

const serviceLayer =
  (configuration: Configuration) =>
  (listening: Listening): ServiceLayer =>
    TimerCommands.layer({ aheadMs: configuration.limits.aheadMs }).pipe(
      Layer.provideMerge(Engine.layer(engineOptions(configuration, listening))),
      Layer.provideMerge(deliverersLayer(configuration)),
      Layer.provide(busLayer(configuration)),
      Layer.provideMerge(NamespaceDirectory.layer({ secretKeys: configuration.secretKeys ?? [] })),
      Layer.provideMerge(clockLayer(configuration)),
      Layer.provideMerge(peersLayer(configuration)),
      Layer.provideMerge(storeLayer(configuration)),
      Layer.provide(Ids.system),
    )

const runService = async (): Promise<number> => {
  const read = readConfiguration(process.env)
  if ("problems" in read) {
    for (const problem of read.problems) writeError(problem)
    return 1
  }
  const { configuration, warnings, effective } = read
  // Told once the service runs: a start that fails says why in one line, and nothing else.
  const onListening = (listening: Listening, status: EngineStatus) =>
    Effect.gen(function* () {
      for (const warning of warnings) yield* Effect.logWarning(warning)
      const startMs = manualStartMs(configuration)
      if (startMs !== undefined) yield* Effect.logWarning(clockShown(startMs))
      yield* Effect.annotateLogs(Effect.logInfo("settings in force"), effective)
      process.stdout.write(welcome(listening, configuration, status))
    })
  const program = Effect.gen(function* () {
    const untilAsked = yield* untilSignal
    yield* serve({ configuration, layer: serviceLayer(configuration), untilAsked, onListening })
  })
  const exit = await Effect.runPromiseExit(
    program.pipe(
      Effect.scoped,
      Effect.provide(layerLogs(configuration.logLevel, process.stderr.isTTY === true)),
    ),
  )
  if (Exit.isSuccess(exit)) return 0
  const failure = Cause.findError(exit.cause)
  writeError(Result.isSuccess(failure) ? failure.success.message : `Unforeseen: ${Cause.squash(exit.cause)}`)
  return 1
}

/** Settings are read when the dead letters are opened: help is to be had whatever they say. */
const openDeadLetters: OpenDeadLetters = Effect.suspend(() => {
  const read = readConfiguration(process.env)
  if ("problems" in read) return Effect.fail(new BusError({ message: read.problems.join(" ") }))
  const { broker } = read.configuration
  if (broker.kind !== "local") return NatsDeadLetters.open({ ...broker, ...brokerBounds })
  return Effect.flatMap(
    Effect.promise(() => import("./cli/dlq.ts")),
    ({ localDeadLetters }) => localDeadLetters,
  )
})

const welcome = ({ url }: Listening, configuration: Configuration, status: EngineStatus): string => {
  const { store, cluster } = configuration
  const place = `Punctual ${build.version} listens on ${url}
  data       ${dataShown(store)}
  reference  ${url}/docs
`
  if (cluster !== undefined) {
    const { shards, ownedShards, shardsElsewhere } = status
    return `${place}
One of a cluster: it fires ${ownedShards} of ${shards} shards, and other nodes ${shardsElsewhere}; shards move until each
has its share. To see who fires what:  punctual cluster --url ${url}
`
  }
  if (status.isWaiting) {
    return `${place}
It waits: another process owns this data. Until that one ends, and this one takes over, API calls are
answered 503 here.
`
  }
  const startMs = manualStartMs(configuration)
  if (startMs !== undefined) {
    return `${place}
Nothing fires by itself: ${clockShown(startMs)}, as in
  curl -s ${url}/api/v1/clock/advance -H 'content-type: application/json' -d '{"by":"1d"}'
`
  }
  return `${place}
Try it: in a second terminal run  ${build.built === undefined ? "npm run listen" : "punctual listen"}  and in a third
  curl -s ${url}/api/v1/timers/create -H 'content-type: application/json' \\
    -d '{"namespace":"demo","timerId":"hello","delay":"2s","callbackUrl":"http://127.0.0.1:9000/hook","payload":{"n":1}}'
`
}

/** Neither a secret nor anything else of a service is asked of a command that only needs its store. */
const storeOfCommand = (storeUrl: string | undefined) =>
  Effect.suspend(() => {
    const read = readStore(process.env, storeUrl)
    if ("problems" in read) return Effect.fail({ message: read.problems.join(" ") })
    if (read.store.kind === "memory") return Effect.fail({ message: inMemory })
    return Effect.succeed({ store: read.store, shards: read.shards })
  })

const inMemory =
  "memory: is in the service's own memory, where no command can reach it: name a store by --store, or by TIMER_STORE_URL."

const openArchive: OpenArchive = (storeUrl) =>
  Effect.gen(function* () {
    const { store } = yield* storeOfCommand(storeUrl)
    if (store.kind === "postgres") return yield* PostgresArchive.open(store.url)
    // The service's main thread does without the database library, which this loads.
    const { SqliteArchive } = yield* Effect.promise(() => import("./stores/sqlite/SqliteArchive.ts"))
    return yield* SqliteArchive.open(store.path)
  })

const openImportTarget: OpenImportTarget = (storeUrl) =>
  Effect.gen(function* () {
    const { store, shards } = yield* storeOfCommand(storeUrl)
    const layer: Layer.Layer<ShardLeases | NamespaceStore | TimerRestore, { readonly message: string }> =
      store.kind === "postgres"
        ? PostgresStore.layer({ url: store.url, shards, connections: 4 })
        : SqliteStore.layer({ path: store.path, shards, workerUrl: sqliteWorkerUrl })
    const services = yield* Layer.build(layer)
    const { restore } = Context.get(services, TimerRestore)
    return {
      leases: Context.get(services, ShardLeases),
      namespaces: Context.get(services, NamespaceStore),
      restore,
      node: `import:${hostname()}:${process.pid}`,
    }
  })

const keeping = storeKeeping({ storeOf: storeOfCommand, workerUrl: sqliteWorkerUrl })

const dataShown = (store: StoreChoice): string => {
  switch (store.kind) {
    case "memory":
      return "in memory only: it is gone when the service ends"
    case "sqlite":
      return store.path
    case "postgres":
      return storeUrlShown(store.url)
  }
}

const main = async (args: ReadonlyArray<string>): Promise<number> => {
  const [first = "serve", second] = args
  if (first === "serve" && second === undefined) return runService()
  if (first === "--version" || first === "-v") {
    return say(second === "--json" ? versionJson(build) : versionLine(build))
  }
  // The service's start does without the commands and what they load.
  const { runPunctual } = await import("./cli/commands.ts")
  return runPunctual(args, {
    input: { environmentUrl: process.env[urlName], stdin: () => process.stdin },
    openDeadLetters,
    openArchive,
    openImportTarget,
    keeping,
  })
}

const say = (text: string): number => {
  process.stdout.write(text)
  return 0
}

const writeError = (message: string): void => {
  writeSync(2, `punctual: ${message.replaceAll("\n", " ")}\n`)
}

/** At once: nothing may be acknowledged after this. */
const fail = (message: string): never => {
  writeError(message)
  process.exit(1)
}

process.exit(await main(process.argv.slice(2)))
