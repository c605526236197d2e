// Part of the composition root: builds the service from its settings and the lists of adapters. If the service cannot
// start, it prints the reason in one line and exits with code 1.
import { hkdfSync, randomBytes } from "node:crypto"
import { setServers } from "node:dns"
import { hostname } from "node:os"
import { Bus } from "@punctual/bus/Bus"
import { RoutingTable } from "@punctual/bus/RoutingTable"
import { KeyDirectory, type KeyDirectoryOptions } from "@punctual/door/KeyDirectory"
import { Resolver } from "@punctual/egress/Resolver"
import type { Listening } from "@punctual/http/listener/Listener"
import type { PagePack } from "@punctual/http/pages/PagePack"
import type { Telemetry } from "@punctual/telemetry/Telemetry"
import { Tracing } from "@punctual/telemetry/Tracing"
import { Cause, Effect, Exit, Layer, Result, type Scope } from "effect"
import { BulkJobs } from "./bulk/BulkJobs.ts"
import { startersWithKeys } from "./bulk/Starters.ts"
import { auditLayer } from "./calls/auditLayer.ts"
import { makeEventDeliverer } from "./deliverers/event/EventDeliverer.ts"
import { makeWebhookDeliverer } from "./deliverers/webhook/WebhookDeliverer.ts"
import type { Target } from "./domain/Timer.ts"
import { ActivityLog } from "./engine/activity/ActivityLog.ts"
import { defaultCensusLimits } from "./engine/census/Census.ts"
import { defaultEngineOptions, Engine, type EngineOptions } from "./engine/Engine.ts"
import { NamespaceDirectory } from "./engine/namespaces/NamespaceDirectory.ts"
import { takeNodeName } from "./engine/ownership/takeNodeName.ts"
import { watchThread } from "./engine/watchThread.ts"
import { namePrefix } from "./http/namePrefix.ts"
import { TimerCommands } from "./messaging/TimerCommands.ts"
import { timerGroups, timerRoutes, timerTopics } from "./messaging/timerRouting.ts"
import { HttpPeers } from "./peers/http/HttpPeers.ts"
import type { Companion } from "./ports/Companion.ts"
import { type Deliverer, Deliverers } from "./ports/Deliverer.ts"
import { Ids } from "./ports/Ids.ts"
import { WallClock } from "./ports/WallClock.ts"
import { build } from "./program/Build.ts"
import { driversOf, type InstallDriver } from "./program/drivers.ts"
import { endOnUncaught } from "./program/endOnUncaught.ts"
import { layerLogs } from "./program/Logs.ts"
import { processTelemetry } from "./program/processTelemetry.ts"
import { type ServeOptions, type ServiceLayer, type Started, serve, untilSignal } from "./serve.ts"
import { type Configuration, type Environment, readConfiguration } from "./settings/Configuration.ts"
import { nodeUrl } from "./settings/NodeIdentity.ts"
import { type Adapters, settings, urlName } from "./settings/Settings.ts"
import { ClockWatch } from "./stores/ClockWatch.ts"

/** What the program's entry provides. */
export interface ServiceParts {
  readonly environment: Environment
  readonly adapters: Adapters
  /** The file stores/sqlite/worker.ts. The program's entry builds this URL. */
  readonly workerUrl: URL
  readonly installDriver: InstallDriver
  /** The pages of the console, if they were built. */
  readonly pages?: PagePack
  /** The documentation, if it was built. */
  readonly docs?: PagePack
  /** Another product in the same process. */
  readonly companion?: Companion
  /** The traces of this process, if they are exported. */
  readonly tracing?: Tracing["Service"]
  /** Ends the process at once. Nothing may be acknowledged after this. */
  readonly onFatal: (message: string) => void
  readonly writeError: (message: string) => void
}

/** The connections to other nodes, if there are any. */
const peersLayer = ({ cluster, tlsCaFile }: Configuration): Layer.Layer<never> =>
  cluster === undefined
    ? Layer.empty
    : HttpPeers.layer({
        secret: cluster.secret,
        timeoutMs: peerTimeoutMs,
        ...(tlsCaFile === undefined ? {} : { caFile: tlsCaFile }),
      })

const peerTimeoutMs = 2_000

/** Absent if traces are not exported. */
const tracingLayer = (tracing: Tracing["Service"] | undefined): Layer.Layer<never> =>
  tracing === undefined ? Layer.empty : Layer.succeed(Tracing, tracing)

/** A manual clock starts at the configured time or at the real time, and then stands still until it is moved. */
const manualStartMs = ({ clock }: Configuration): number | undefined =>
  clock.kind === "manual" ? (clock.startMs ?? processStartMs) : undefined

const processStartMs = Date.now()

const clockLayer = (configuration: Configuration): Layer.Layer<WallClock> => {
  const startMs = manualStartMs(configuration)
  return startMs === undefined ? WallClock.system : WallClock.manual(startMs)
}

const clockShown = (startMs: number): string =>
  `the clock is manual and stands at ${new Date(startMs).toISOString()}; move it with /api/v1/clock/advance`

const deliverersLayer = ({
  egress,
  limits,
  dnsServers,
  lookupTimeoutMs,
  maxLookupsPerNamespace,
}: Configuration) =>
  Layer.effect(
    Deliverers,
    Effect.gen(function* () {
      const bus = yield* Bus
      const directory = yield* NamespaceDirectory
      // The servers hold for the whole process. Only webhooks use these lookups.
      if (dnsServers.length > 0) setServers(dnsServers)
      const resolver = new Resolver({ timeoutMs: lookupTimeoutMs, maxPerNamespace: maxLookupsPerNamespace })
      const webhook = makeWebhookDeliverer({
        egress,
        resolve: resolver.resolve,
        payloadBytes: limits.payloadBytes,
        secretsOf: (namespace) => directory.of(namespace).secrets,
        onSecretsChange: directory.onChange,
      })
      const byType = new Map<Target["type"], Deliverer>([
        ["webhook", webhook],
        ["event", makeEventDeliverer(bus)],
      ])
      return { byType }
    }),
  )

/** Differs from the name of every other node, and of the previous process of this node. */
const nodeName = ({ nodeName: given }: Configuration): string =>
  given ?? `${hostname()}:${process.pid}-${randomBytes(2).toString("hex")}`

const engineOptions = (
  configuration: Configuration,
  { port, url }: Listening,
  onBroken: (message: string) => void,
): EngineOptions => ({
  ...defaultEngineOptions,
  ownership: {
    ...defaultEngineOptions.ownership,
    node: nodeName(configuration),
    address: configuration.cluster === undefined ? "" : nodeUrl(configuration.cluster.address, { port, url }),
  },
  pollingIntervalMs: configuration.pollingIntervalMs,
  window: { ...defaultEngineOptions.window, page: configuration.batchSize },
  dispatch: {
    ...defaultEngineOptions.dispatch,
    inFlight: configuration.slots.normal,
    slow: configuration.slots.slow,
    trial: configuration.slots.trial,
    inFlightPerNamespace: configuration.maxInFlightPerNamespace,
    inFlightPerHost: configuration.maxInFlightPerHost,
  },
  historyRetentionMs: configuration.historyRetentionMs,
  maxPendingByDefault: configuration.maxPendingPerNamespace,
  ...(configuration.census === "on" ? { census: defaultCensusLimits } : {}),
  onBroken: (message) => onBroken(`The engine has failed, so the service ends: ${message}`),
})

/** The engine. It starts after this process has taken the name of its node. */
const engineLayer = (options: EngineOptions) =>
  Layer.unwrap(Effect.as(takeNodeName(options.ownership), Engine.layer(options)))

/** Nodes of a cluster accept each other's sessions. */
const keyOptions = ({ adminKeyFile, cluster }: Configuration): KeyDirectoryOptions => ({
  ...(adminKeyFile === undefined ? {} : { adminKeyFile }),
  ...(cluster === undefined ? {} : { sessionSecret: sessionSecretOf(cluster.secret) }),
})

/** Derived, so that a signature of another kind, made with the same secret, is never valid here. */
const sessionSecretOf = (clusterSecret: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", clusterSecret, "", "punctual: sessions, 1", 32))

/** Everything below HTTP, built from the settings. */
const serviceLayer =
  (configuration: Configuration, { workerUrl, onFatal, companion, tracing }: ServiceParts) =>
  (listening: Listening): ServiceLayer => {
    const {
      store,
      shards,
      broker,
      brokerTerms,
      limits,
      secretKeys = [],
      maxNamespaces,
      auditRetentionMs,
      auth,
    } = configuration
    const onStoreFatal = (message: string) => onFatal(`The store has failed, so the service ends: ${message}`)
    const topics = timerTopics(brokerTerms.subjects)
    const onRefused = (message: string) =>
      onFatal(`The message broker answers but cannot be used, so the service ends: ${message}`)
    const starters = Effect.map(KeyDirectory, (keys) => startersWithKeys(keys, auth))
    const routing = new RoutingTable(
      { ...timerRoutes(topics), ...companion?.routes(brokerTerms.subjects) },
      companion?.unheardTypes,
      [...timerGroups(topics), ...(companion?.groups(brokerTerms.subjects) ?? [])],
    )
    return TimerCommands.layer({ topic: topics.commands, limits }).pipe(
      Layer.provideMerge(BulkJobs.layer(starters)),
      Layer.provideMerge(ActivityLog.layer({ retentionMs: configuration.historyRetentionMs })),
      Layer.provideMerge(engineLayer(engineOptions(configuration, listening, onFatal))),
      Layer.provideMerge(deliverersLayer(configuration)),
      Layer.provideMerge(companion?.layer(brokerTerms.subjects) ?? Layer.empty),
      Layer.provideMerge(broker.open(brokerTerms, { routing, onRefused })),
      Layer.provideMerge(NamespaceDirectory.layer({ secretKeys, keyFile: store.sealingKey, maxNamespaces })),
      Layer.provideMerge(KeyDirectory.layer(keyOptions(configuration))),
      Layer.provideMerge(auditLayer(auditRetentionMs)),
      Layer.provideMerge(clockLayer(configuration)),
      Layer.provideMerge(peersLayer(configuration)),
      Layer.provideMerge(tracingLayer(tracing)),
      Layer.provideMerge(ClockWatch.layer.pipe(Layer.provide(WallClock.system))),
      Layer.provideMerge(
        store.open({
          shards,
          workerUrl,
          historyRetentionMs: configuration.historyRetentionMs,
          onFatal: onStoreFatal,
        }),
      ),
      Layer.provide(Ids.system),
    )
  }

/** Runs the service from its start until it is asked to stop. It first installs the drivers that adapters need. */
export const serviceOf = (
  configuration: Configuration,
  parts: ServiceParts,
  run: Pick<ServeOptions, "untilAsked" | "onListening" | "about">,
) =>
  Effect.andThen(
    driversOf([configuration.store, configuration.broker], parts.installDriver),
    serve({
      configuration,
      layer: serviceLayer(configuration, parts),
      ...(parts.pages === undefined ? {} : { pages: parts.pages }),
      ...(parts.docs === undefined ? {} : { docs: parts.docs }),
      ...run,
    }),
  )

const aboutOf = (
  effective: Readonly<Record<string, string>>,
  given: ReadonlySet<string>,
): NonNullable<ServeOptions["about"]> => ({
  build: {
    version: build.version,
    ...(build.built === undefined ? {} : { commit: build.built.commit, builtAt: build.built.at }),
  },
  settings: Object.entries(effective)
    .map(([name, value]) => ({ name, value, isSet: given.has(name) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1)),
})

/** Runs the program with its log, and exports traces and logs meanwhile if the settings ask for it. */
export const withLogs = <A, E>(
  program: Effect.Effect<A, E, Scope.Scope>,
  { logLevel }: Pick<Configuration, "logLevel">,
  telemetry: Telemetry | undefined,
): Effect.Effect<A, E> =>
  Effect.scoped(program).pipe(
    (run) => telemetry?.during(run) ?? run,
    Effect.provide(layerLogs(logLevel, process.stderr.isTTY === true, telemetry?.log)),
  )

/** One run of the service. Returns the exit code. */
export const runService = async (parts: ServiceParts): Promise<number> => {
  const read = readConfiguration(parts.environment, parts.adapters)
  if ("problems" in read) {
    for (const problem of read.problems) parts.writeError(problem)
    return 1
  }
  const { configuration, warnings, effective, given } = read
  // Logged once the service runs, so that a failed start prints only its reason in one line.
  const onListening = (started: Started) =>
    Effect.gen(function* () {
      for (const warning of warnings) yield* Effect.logWarning(warning)
      const startMs = manualStartMs(configuration)
      if (startMs !== undefined) yield* Effect.logWarning(clockShown(startMs))
      yield* Effect.annotateLogs(Effect.logInfo("settings in force"), effective)
      const egressText = effective[settings.egress.name] ?? ""
      process.stdout.write(welcome(started, configuration, egressText, parts) + started.companionLines)
    })
  const program = Effect.gen(function* () {
    yield* endOnUncaught(parts.onFatal)
    const untilAsked = yield* untilSignal
    yield* watchThread()
    const tracing = telemetry?.tracing === undefined ? {} : { tracing: telemetry.tracing }
    const run = { untilAsked, onListening, about: aboutOf(effective, given) }
    yield* serviceOf(configuration, { ...parts, ...tracing }, run)
  })
  const telemetry = processTelemetry(configuration.telemetry, configuration.nodeName, namePrefix)
  const exit = await Effect.runPromiseExit(withLogs(program, configuration, telemetry))
  if (Exit.isSuccess(exit)) return 0
  const failure = Cause.findError(exit.cause)
  parts.writeError(
    Result.isSuccess(failure) ? failure.success.message : `Unforeseen: ${Cause.squash(exit.cause)}`,
  )
  return 1
}

/** Where `punctual listen` listens. */
const receiverHost = "127.0.0.1"

/** Where commands look for the service if nothing else is set. */
const defaultPort = 8080

/** The URL is that of loopback if the service listens on all addresses. */
const everyAddress = ({ httpHost }: Configuration, port: number): string =>
  ["0.0.0.0", "::"].includes(httpHost)
    ? `  network    port ${port} of every address of this machine (${settings.httpHost.name}=${httpHost})\n`
    : ""

const welcome = (
  { listening: { url, port }, status, needsKey }: Started,
  configuration: Configuration,
  egressText: string,
  { pages, docs }: Pick<ServiceParts, "pages" | "docs">,
): string => {
  const { store, cluster } = configuration
  const place = `Punctual ${build.version} listens on ${url}
${pages === undefined ? "" : `  console    ${url}/console/\n`}  API        ${url}/api/v1
  docs       ${url}/docs/${docs === undefined ? "api" : ""}
  data       ${store.place}
${port === defaultPort ? "" : `  commands   export ${urlName}=${url}\n`}${everyAddress(configuration, port)}`
  if (cluster !== undefined) {
    const { shards, ownedShards, shardsElsewhere } = status
    return `${place}
One of a cluster: it fires ${ownedShards} of ${shards} shards, and other nodes ${shardsElsewhere}; shards move until each
has its share. To see who fires what:  punctual cluster --url ${url}
`
  }
  if (status.isWaiting && status.waitsFor !== "otherProcess") {
    return `${place}
It is still starting: it has not claimed its shards yet. Until then API calls are answered 503 here.
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
  if (status.isPaused) {
    return `${place}
Nothing fires: the service is paused. To see why:  punctual status --url ${url}
`
  }
  const [receiver, command] =
    build.built === undefined
      ? ["npm run listen", "npm run --silent punctual --"]
      : ["punctual listen", "punctual"]
  if (needsKey) {
    return `${place}
Calls need a key: send the header  Authorization: Bearer <key>  with each. How to make one:  ${command} keys create --help
`
  }
  if (!configuration.egress.allows(receiverHost, receiverHost)) {
    return `${place}
Timers cannot call ${receiverHost}. To try them with  ${receiver}  start with TIMER_EGRESS='${egressText},loopback'
`
  }
  return `${place}
Try it: in a second terminal run  ${receiver}  and in a third
  curl -s ${url}/api/v1/timers/create -H 'content-type: application/json' \\
    -d '{"namespace":"demo","timerId":"hello","delay":"2s","callbackUrl":"http://${receiverHost}:9000/hook","payload":{"n":1}}'
`
}
