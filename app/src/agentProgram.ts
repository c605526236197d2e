// `punctual agent`: the Service Agent and the Timer in one process, or any of their modules. With the Timer it runs as a
// companion of the service, on the same bus and with the same keys. Without the Timer it uses a message broker.
import { type AgentModule, type AgentParts, agentModules, startAgent } from "@punctual/agent/agent"
import { agentPrefix } from "@punctual/agent/http/agentNames"
import {
  agentGroups,
  agentRoutes,
  agentTopics,
  unheardAgentTypes,
} from "@punctual/agent/messaging/agentRouting"
import { readAgentConfiguration } from "@punctual/agent/settings/AgentConfiguration"
import { RoutingTable } from "@punctual/bus/RoutingTable"
import { Documents } from "@punctual/documents/Documents"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import type { PagePack } from "@punctual/http/pages/PagePack"
import { timerGroups, timerRoutes, timerTopics } from "@punctual/server/messaging/timerRouting"
import { type Companion, RunningCompanion } from "@punctual/server/ports/Companion"
import { driversOf } from "@punctual/server/program/drivers"
import { processTelemetry } from "@punctual/server/program/processTelemetry"
import { untilSignal } from "@punctual/server/serve"
import { runService, type ServiceParts, withLogs } from "@punctual/server/service"
import { type Configuration, readConfiguration, settingTexts } from "@punctual/server/settings/Configuration"
import { leavingRequests } from "@punctual/server/settings/runtimeRequests"
import { Cause, Effect, Exit, Layer, Result } from "effect"
import { type AgentArguments, readAgentArguments } from "./agentArguments.ts"
import { requestsOfAgent } from "./raiseRequestLimit.ts"

export interface AgentProgramParts extends ServiceParts {
  /** The file agent/src/stores/sqlite/worker.ts. */
  readonly agentWorkerUrl: URL
  /** The pages of the agent, if they were built. */
  readonly agentPages?: PagePack
  /** Called at each named step of a call. Only tests give it. */
  readonly agentSteps?: AgentParts["steps"]
}

/** Runs until it is asked to stop. Returns the exit code. */
export const runAgent = async (args: ReadonlyArray<string>, given: AgentProgramParts): Promise<number> => {
  const asked = readAgentArguments(args)
  if ("problem" in asked) {
    given.writeError(asked.problem)
    return 2
  }
  const parts = asked.modules.has("execution")
    ? { ...given, environment: leavingRequests(given.environment, requestsOfAgent) }
    : given
  const problems: Array<string> = []
  const { texts } = settingTexts(parts.environment, problems, [])
  const read = readAgentConfiguration(texts)
  const service = readConfiguration(parts.environment, parts.adapters)
  if ("problems" in read) problems.push(...read.problems)
  if ("problems" in service) problems.push(...service.problems.filter((text) => !problems.includes(text)))
  if (problems.length > 0 || "problems" in read || "problems" in service) {
    for (const problem of problems) parts.writeError(problem)
    return 1
  }
  const contradiction = whyNotTogether(asked, service.configuration, texts)
  if (contradiction !== undefined) {
    parts.writeError(contradiction)
    return 1
  }
  const agent = (subjects: AgentParts["subjects"]): AgentParts => ({
    configuration: read.configuration,
    modules: asked.modules,
    subjects,
    workerUrl: parts.agentWorkerUrl,
    ...(parts.agentPages === undefined ? {} : { pages: parts.agentPages }),
    isDemo: asked.isDemo,
    onFatal: parts.onFatal,
    ...(parts.agentSteps === undefined ? {} : { steps: parts.agentSteps }),
  })
  const told = Effect.gen(function* () {
    for (const warning of read.warnings) yield* Effect.logWarning(warning)
    yield* Effect.annotateLogs(Effect.logInfo("settings of the agent in force"), read.effective)
  })
  if (!asked.hasTimer)
    return runAlone(service.configuration, agent(service.configuration.brokerTerms.subjects), {
      ...parts,
      told,
    })
  const companion: Companion = {
    routes: (subjects) => agentRoutes(agentTopics(subjects)),
    groups: (subjects) => agentGroups(agentTopics(subjects)),
    unheardTypes: unheardAgentTypes,
    layer: (subjects) =>
      Layer.effect(
        RunningCompanion,
        Effect.gen(function* () {
          yield* told
          return yield* Effect.provideService(startAgent(agent(subjects)), KeyDirectory, yield* KeyDirectory)
        }),
      ),
  }
  return runService({ ...parts, ...(asked.modules.size === 0 ? {} : { companion }) })
}

/** Why these modules cannot run with these settings. */
const whyNotTogether = (
  { modules, hasTimer, isDemo }: AgentArguments,
  { broker }: Configuration,
  texts: Readonly<Record<string, string>>,
): string | undefined => {
  const isLocal = broker.adapter.name === "local"
  const missing: ReadonlyArray<AgentModule | "timer"> = [
    ...agentModules.filter((module) => !modules.has(module)),
    ...(hasTimer ? [] : (["timer"] as const)),
  ]
  if (isLocal && missing.length > 0) {
    return `--modules leaves out ${missing.join(", ")}. Modules in several processes need a message broker: set TIMER_BROKER_URL, for example to nats://127.0.0.1:4222, or leave --modules out.`
  }
  if (isDemo && !modules.has("api")) return "--demo needs the module api: it submits its sample calls there."
  const [ofAgent, ofTimer] = [texts["AGENT_STORE_URL"], texts["TIMER_STORE_URL"]]
  if (ofAgent !== undefined && ofAgent === ofTimer && ofAgent.startsWith("sqlite:")) {
    return "AGENT_STORE_URL and TIMER_STORE_URL name the same file. The agent and the Timer need a file each."
  }
  return undefined
}

/** The agent without the Timer. Its keys are those of the Timer's store. */
const runAlone = async (
  configuration: Configuration,
  agent: AgentParts,
  parts: AgentProgramParts & { readonly told: Effect.Effect<void> },
): Promise<number> => {
  const { broker, brokerTerms, store, shards, drainMs } = configuration
  const topics = timerTopics(brokerTerms.subjects)
  const routing = new RoutingTable(
    { ...timerRoutes(topics), ...agentRoutes(agentTopics(brokerTerms.subjects)) },
    unheardAgentTypes,
    [...timerGroups(topics), ...agentGroups(agentTopics(brokerTerms.subjects))],
  )
  const onRefused = (message: string) =>
    parts.onFatal(`The message broker answers but cannot be used, so the agent ends: ${message}`)
  const needsKeys = agent.modules.has("api") && agent.configuration.auth !== "off"
  const documents = Layer.effect(
    Documents,
    "instead" in store.documents
      ? Effect.fail({ message: store.documents.instead })
      : store.documents.can({ shards, workerUrl: parts.workerUrl, connections: "few" }),
  )
  const keys = needsKeys ? KeyDirectory.layer().pipe(Layer.provide(documents)) : Layer.empty
  const program = Effect.gen(function* () {
    const untilAsked = yield* untilSignal
    yield* parts.told
    yield* driversOf([broker, ...(needsKeys ? [store] : [])], parts.installDriver)
    const services = yield* Layer.build(Layer.merge(broker.open(brokerTerms, { routing, onRefused }), keys))
    const running = yield* Effect.provide(startAgent(agent), services)
    process.stdout.write(yield* running.open)
    yield* untilAsked
    yield* Effect.logInfo("draining")
    yield* running.drain(drainMs)
    yield* Effect.logInfo("stopped")
  })
  const telemetry = processTelemetry(configuration.telemetry, configuration.nodeName, agentPrefix)
  const exit = await Effect.runPromiseExit(withLogs(program, configuration, telemetry))
  if (Exit.isSuccess(exit)) return 0
  const failure = Cause.findError(exit.cause)
  parts.writeError(
    Result.isSuccess(failure) ? failure.success.message : `Unforeseen: ${Cause.squash(exit.cause)}`,
  )
  return 1
}
