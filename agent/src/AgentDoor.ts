// The way into the agent: its port, its certificate, its keys, and all of its HTTP. The port is opened before callers are
// let in, so that a port in use is reported early. It is closed last, so that health and metrics answer until the end.
import { OwnerUnavailable } from "@punctual/api/Problem"
import { Gate } from "@punctual/door/Gate"
import type { KeyDirectory } from "@punctual/door/KeyDirectory"
import { readTlsPair, type TlsPair } from "@punctual/door/TlsPair"
import { type Listening, listen } from "@punctual/http/listener/Listener"
import type { PagePack } from "@punctual/http/pages/PagePack"
import { problemResponse } from "@punctual/http/problemResponse"
import { renewCertificate } from "@punctual/http/renewCertificate"
import { Cause, Clock, Effect, type Scope } from "effect"
import type { ServiceCalls } from "./calls/ServiceCalls.ts"
import { type AgentHttp, makeAgentHttp } from "./http/AgentHttp.ts"
import { agentPrefix } from "./http/agentNames.ts"
import type { AgentHealth } from "./http/agentSite.ts"
import type { AgentConfiguration } from "./settings/AgentConfiguration.ts"
import { agentSettings, openAgentSettings } from "./settings/agentSettings.ts"

export interface AgentDoorOptions {
  readonly configuration: AgentConfiguration
  /** The keys in force. They are kept in the store of the Timer. Absent if the settings say that nobody needs a key. */
  readonly keys?: KeyDirectory["Service"]
  readonly health: AgentHealth
  readonly moreMetrics?: Effect.Effect<string>
  /** The pages of the UI, if they were built. */
  readonly pages?: PagePack
  /** Other processes change calls, too. */
  readonly pollsChanges: boolean
}

export interface AgentDoor {
  readonly listening: Listening
  readonly needsKey: boolean
  /** Refuses calls from now on, and closes the port after running requests are answered. */
  readonly close: Effect.Effect<void>
}

/** How long open answers may take to be sent. */
const closeWithinMs = 2_000

export const openAgentDoor = (
  options: AgentDoorOptions,
): Effect.Effect<AgentDoor, { readonly message: string }, ServiceCalls | Scope.Scope> =>
  Effect.gen(function* () {
    const { configuration, keys } = options
    const { httpHost, httpPort, guard, tls, auth } = configuration
    const message = whyNoAgentKey(configuration, keys?.hasHadKey() ?? false)
    if (message !== undefined) return yield* Effect.fail({ message })
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    const certificate = yield* certificateOf(configuration)
    let http: AgentHttp | undefined
    const listening = yield* listen({
      namePrefix: agentPrefix,
      host: httpHost,
      port: httpPort,
      ...(certificate === undefined ? {} : { certificate }),
      handle: (request) => http?.handle(request) ?? Promise.resolve(problemResponse(starting())),
      onDefect: (error) =>
        runFork(Effect.logError("A request failed for an unexpected reason.", Cause.die(error))),
    })
    if (tls !== undefined && certificate !== undefined) {
      yield* Effect.forkScoped(
        renewCertificate({
          namePrefix: agentPrefix,
          files: tls,
          pair: certificate,
          use: listening.useCertificate,
        }),
      )
    }
    if (auth === "off") {
      yield* Effect.logWarning(
        `${agentSettings.auth.name} is off: everyone who reaches ${httpHost}:${listening.port} can do everything`,
      )
    }
    const clock = yield* Clock.Clock
    const nowMs = () => clock.currentTimeMillisUnsafe()
    const checked = keys === undefined ? {} : { keys: { keys, gate: new Gate({ keys, mode: auth, nowMs }) } }
    const opened = yield* makeAgentHttp({
      guard,
      health: options.health,
      ...checked,
      metricsAreOpen: configuration.metricsAccess === "open",
      ...(options.moreMetrics === undefined ? {} : { moreMetrics: options.moreMetrics }),
      ...(options.pages === undefined ? {} : { pages: options.pages }),
      pollsChanges: options.pollsChanges,
      nowMs,
    })
    http = opened
    return {
      listening,
      needsKey: checked.keys?.gate.isClosed ?? false,
      close: Effect.andThen(
        Effect.sync(() => opened.close()),
        listening.close(closeWithinMs),
      ),
    }
  })

const starting = () =>
  new OwnerUnavailable({
    detail: "The agent is starting. Nothing was written: retry.",
    retryAfterSeconds: 1,
    written: "no",
  })

/** Why the agent must not start; `undefined` if it may. An agent that others can reach must not answer everyone by mistake. */
export const whyNoAgentKey = (
  { auth, httpHost, guard }: AgentConfiguration,
  hasHadKey: boolean,
): string | undefined => {
  if (auth === "off" || hasHadKey || (auth === "auto" && guard.isOnLoopback)) return undefined
  const why =
    auth === "required"
      ? `${agentSettings.auth.name} is required, and the store of the Timer has no key.`
      : `${agentSettings.httpHost.name} is ${httpHost}, so other machines can reach the agent, and the store of the Timer has no key.`
  return `${why} Make the first key with punctual keys create --admin, or set TIMER_ADMIN_KEY_FILE to a file in a folder that the Timer can write. If a proxy checks all callers, set ${agentSettings.auth.name}=off.`
}

/** The settings were checked with these files a moment ago, but the files may have changed since. */
const certificateOf = ({
  tls,
}: AgentConfiguration): Effect.Effect<TlsPair | undefined, { readonly message: string }> =>
  Effect.suspend(() => {
    const read = tls === undefined ? undefined : readTlsPair(tls)
    if (read === undefined || !("problem" in read)) return Effect.succeed(read)
    const { name } = read.file === "cert" ? openAgentSettings.tlsCertFile : openAgentSettings.tlsKeyFile
    return Effect.fail({ message: `${name} ${read.problem}.` })
  })
