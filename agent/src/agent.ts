// The composition root of the agent: settings pick the store and the caller, and the list of modules says what runs in
// this process. The bus and the keys come from outside: from the Timer in the same process, or from a broker.
import type { Bus } from "@punctual/bus/Bus"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import type { PagePack } from "@punctual/http/pages/PagePack"
import { Clock, Effect, Layer, Option, type Scope } from "effect"
import { type AgentDoor, openAgentDoor } from "./AgentDoor.ts"
import { agentMetrics } from "./agentMetrics.ts"
import { FetchCaller } from "./callers/fetch/FetchCaller.ts"
import { liveServiceCalls } from "./calls/LiveServiceCalls.ts"
import { makeRequestSeal, RequestSeal } from "./calls/RequestSeal.ts"
import { ServiceCalls } from "./calls/ServiceCalls.ts"
import { startDemoTargets } from "./demo/demoTargets.ts"
import { submitSamples } from "./demo/sampleCalls.ts"
import { Execution } from "./execution/Execution.ts"
import type { AgentHealth } from "./http/agentSite.ts"
import { agentTopics } from "./messaging/agentRouting.ts"
import { CallSignals } from "./orchestration/CallSignals.ts"
import { CallWriter } from "./orchestration/CallWriter.ts"
import { Orchestration } from "./orchestration/Orchestration.ts"
import { OutboxDispatcher } from "./outbox/OutboxDispatcher.ts"
import { CallStore } from "./ports/CallStore.ts"
import { type StepHook, Steps } from "./ports/Steps.ts"
import type { AgentConfiguration } from "./settings/AgentConfiguration.ts"
import { agentSettings, openAgentSettings } from "./settings/agentSettings.ts"
import { PostgresCallStore } from "./stores/postgres/PostgresCallStore.ts"
import { requestKeyBeside } from "./stores/sqlite/requestKeyFile.ts"
import { SqliteCallStore } from "./stores/sqlite/SqliteCallStore.ts"

/** The parts of the agent that can run in processes of their own. */
export const agentModules = ["api", "orchestration", "execution"] as const

export type AgentModule = (typeof agentModules)[number]

export interface AgentParts {
  readonly configuration: AgentConfiguration
  readonly modules: ReadonlySet<AgentModule>
  /** Whether commands and events have addresses of their own at the broker. */
  readonly subjects: "shared" | "split"
  /** The file stores/sqlite/worker.ts. The program's entry builds this URL. */
  readonly workerUrl: URL
  /** The pages of the UI, if they were built. */
  readonly pages?: PagePack
  /** Starts targets on loopback, and submits sample calls. */
  readonly isDemo: boolean
  /** Ends the process at once. Nothing may be acknowledged after this. */
  readonly onFatal: (message: string) => void
  /** Called at each named step. Only tests give it. */
  readonly steps?: StepHook
}

type Failure = { readonly message: string }

export interface RunningAgent {
  /** Lets callers in. Returns lines for the text of the start. */
  readonly open: Effect.Effect<string, Failure, Scope.Scope>
  /** Lets nobody in any more, and waits for calls that are being made, at most this long. */
  drain(withinMs: number): Effect.Effect<void>
}

/** Everything except the door. When it is built, the agent listens to its messages. Keys are used if there are any. */
export const startAgent = (parts: AgentParts): Effect.Effect<RunningAgent, Failure, Bus | Scope.Scope> =>
  Effect.gen(function* () {
    const services = yield* Layer.build(agentLayer(parts))
    const keys = Option.getOrUndefined(yield* Effect.serviceOption(KeyDirectory))
    const calls = yield* Effect.provide(ServiceCalls, services)
    const outbox = yield* Effect.provide(OutboxDispatcher, services)
    const execution = Option.getOrUndefined(yield* Effect.provide(Effect.serviceOption(Execution), services))
    let door: AgentDoor | undefined
    const open = Effect.gen(function* () {
      const { configuration, modules, isDemo, pages } = parts
      if (!modules.has("api")) return welcomeWithout(parts)
      const opened = yield* Effect.provideService(
        openAgentDoor({
          configuration,
          ...(keys === undefined ? {} : { keys }),
          health: healthOf(outbox),
          moreMetrics: Effect.provide(agentMetrics, services),
          ...(pages === undefined ? {} : { pages }),
          pollsChanges: modules.size < agentModules.length || configuration.store.kind === "postgres",
        }),
        ServiceCalls,
        calls,
      )
      door = opened
      const { url, port } = opened.listening
      yield* Effect.logInfo("the agent listens").pipe(Effect.annotateLogs({ url, port }))
      const targets = isDemo ? yield* demoOn(port, configuration.httpPort, calls) : undefined
      return welcome(parts, opened, targets)
    })
    const drain = (withinMs: number) =>
      Effect.gen(function* () {
        if (door !== undefined) yield* door.close
        if (execution === undefined) return
        yield* Effect.sleep(drainLookMs).pipe(
          Effect.repeat({ while: () => execution.counts().running > 0 }),
          Effect.timeoutOption(withinMs),
        )
      })
    return { open, drain }
  })

/** Longer than the longest pause of the outbox, and than a slow database needs for one look. */
const stalledAfterMs = 60_000

/** The outbox is the one part that every process of the agent has, and it needs the store and the broker. */
const healthOf = (outbox: OutboxDispatcher["Service"]): AgentHealth => ({
  stalls: () => {
    const { idleMs } = outbox.health()
    return idleMs < stalledAfterMs
      ? []
      : [`The loop outbox has made no progress for ${Math.floor(idleMs / 1_000)} s.`]
  },
  whyNotReady: () => outbox.health().troubles,
})

/** How often a drain looks whether calls are still being made. */
const drainLookMs = 20

const agentLayer = (parts: AgentParts) => {
  const { configuration, modules, subjects } = parts
  const topics = agentTopics(subjects)
  const { retentionMs, callTimeoutMs, openCallsMax, store } = configuration
  const orchestration = modules.has("orchestration")
    ? Orchestration.layer({ topics, retentionMs })
    : Layer.empty
  // A SQLite file belongs to one process, so its attempts do, too.
  const owner = store.kind === "sqlite" ? { owner: "agent" } : {}
  const execution = modules.has("execution") ? Execution.layer({ topics, ...owner }) : Layer.empty
  return Layer.mergeAll(
    orchestration,
    execution,
    OutboxDispatcher.layer(),
    liveServiceCalls({ openCallsMax }),
  ).pipe(
    Layer.provideMerge(CallWriter.layer({ callTimeoutMs })),
    Layer.provideMerge(
      Layer.mergeAll(
        storeLayer(parts),
        sealLayer(configuration),
        FetchCaller.layer({ egress: configuration.egress }),
      ),
    ),
    Layer.provideMerge(CallSignals.layer),
    Layer.provide(parts.steps === undefined ? Layer.empty : Layer.succeed(Steps, parts.steps)),
  )
}

const storeLayer = ({
  configuration: { store },
  modules,
  workerUrl,
  onFatal,
}: AgentParts): Layer.Layer<CallStore, Failure> => {
  if (store.kind === "postgres") return PostgresCallStore.layer({ url: store.url })
  if (modules.size < agentModules.length) {
    return Layer.effect(
      CallStore,
      fail(
        `${agentSettings.store.name} is a SQLite file, which only one process can use. Run api, orchestration and execution in one process, or set ${agentSettings.store.name} to postgres://…`,
      ),
    )
  }
  return SqliteCallStore.layer({
    path: store.file,
    workerUrl,
    onFatal: (message) => onFatal(`The agent's store has failed, so the program ends: ${message}`),
  })
}

const sealLayer = ({ secretKey, store }: AgentConfiguration): Layer.Layer<RequestSeal, Failure> => {
  if (secretKey !== undefined) return Layer.succeed(RequestSeal, makeRequestSeal(secretKey))
  if (store.kind === "postgres") {
    return Layer.effect(
      RequestSeal,
      fail(
        `${openAgentSettings.secretKey.name} is needed with PostgreSQL, the same in all processes: create one with openssl rand -hex 32.`,
      ),
    )
  }
  return Layer.effect(
    RequestSeal,
    Effect.try({
      try: () => makeRequestSeal(requestKeyBeside(store.file)),
      catch: (error) => ({ message: error instanceof Error ? error.message : String(error) }),
    }),
  )
}

const fail = (message: string): Effect.Effect<never, Failure> => Effect.fail({ message })

/** The targets of the demo listen beside the agent. */
const demoOn = (port: number, askedPort: number, calls: ServiceCalls["Service"]) =>
  Effect.gen(function* () {
    const { url } = yield* startDemoTargets(askedPort === 0 ? 0 : port + 1)
    yield* submitSamples(calls, url, yield* Clock.currentTimeMillis)
    return url
  })

const placeOf = ({ store }: AgentConfiguration): string =>
  store.kind === "sqlite" ? store.file : new URL(store.url).host

const welcome = (
  { configuration, pages }: AgentParts,
  { listening: { url }, needsKey }: AgentDoor,
  targets: string | undefined,
): string => {
  const place = `
The Service Agent listens on ${url}
${pages === undefined ? "" : `  pages      ${url}/\n`}  API        ${url}/api/v1
  docs       ${url}/docs/api
  data       ${placeOf(configuration)}
`
  if (needsKey)
    return `${place}\nCalls need a key: send the header  Authorization: Bearer <key>  with each.\n`
  const target = targets === undefined ? "https://example.com/" : `${targets}/echo`
  const demo =
    targets === undefined
      ? ""
      : `  targets    ${targets}/echo, /slow, /failing and /flaky; the tenant demo has sample calls\n`
  return `${place}${demo}
Try it: a call in 5 seconds, and what became of it:
  curl -s ${url}/api/v1/tenants/demo/service-calls -H 'content-type: application/json' \\
    -d '{"request":{"method":"GET","url":"${target}"},"delay":"5s","serviceCallId":"hello"}'
  curl -s ${url}/api/v1/tenants/demo/service-calls/hello
`
}

const welcomeWithout = ({ configuration, modules }: AgentParts): string =>
  `\nThe Service Agent runs without its API: ${[...modules].join(" and ")}, on ${placeOf(configuration)}\n`
