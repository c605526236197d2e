// The whole agent in one process, with a real Timer beside it on the local bus: its store, Orchestration, Execution, the
// dispatcher, and what users do. Only tests use it; the Timer's parts come from the server.
import { join } from "node:path"
import { defaultLimits } from "@punctual/api/Limits"
import { Bus } from "@punctual/bus/Bus"
import { defaultIntakeOptions } from "@punctual/bus/IntakeOptions"
import { LocalBus } from "@punctual/bus/local/LocalBus"
import { RoutingTable } from "@punctual/bus/RoutingTable"
import { openEgress } from "@punctual/egress/Egress"
import { makeEventDeliverer } from "@punctual/server/deliverers/event/EventDeliverer"
import { Engine } from "@punctual/server/engine/Engine"
import { NamespaceDirectory } from "@punctual/server/engine/namespaces/NamespaceDirectory"
import { TimerCommands } from "@punctual/server/messaging/TimerCommands"
import { timerRoutes, timerTopics } from "@punctual/server/messaging/timerRouting"
import { Deliverers } from "@punctual/server/ports/Deliverer"
import { Ids } from "@punctual/server/ports/Ids"
import { WallClock } from "@punctual/server/ports/WallClock"
import { SqliteStore } from "@punctual/server/stores/sqlite/SqliteStore"
import { eventually } from "@punctual/server/testkit/eventually"
import { Effect, Layer, Logger } from "effect"
import { FetchCaller } from "../src/callers/fetch/FetchCaller.ts"
import { liveServiceCalls } from "../src/calls/LiveServiceCalls.ts"
import { makeRequestSeal, RequestSeal } from "../src/calls/RequestSeal.ts"
import { ServiceCalls } from "../src/calls/ServiceCalls.ts"
import type { ServiceCall } from "../src/domain/ServiceCall.ts"
import { Execution } from "../src/execution/Execution.ts"
import { agentRoutes, agentTopics, unheardAgentTypes } from "../src/messaging/agentRouting.ts"
import { CallSignals } from "../src/orchestration/CallSignals.ts"
import { CallWriter } from "../src/orchestration/CallWriter.ts"
import { Orchestration } from "../src/orchestration/Orchestration.ts"
import { OutboxDispatcher } from "../src/outbox/OutboxDispatcher.ts"
import type { ServiceCaller } from "../src/ports/ServiceCaller.ts"
import { type StepHook, Steps } from "../src/ports/Steps.ts"
import { SqliteCallStore } from "../src/stores/sqlite/SqliteCallStore.ts"
import type { SubmittedCall } from "./CallChecker.ts"
import { callWorkerUrl } from "./sqliteCalls.ts"

const topics = agentTopics("shared")
const timersWorkerUrl = new URL("../../server/src/stores/sqlite/worker.ts", import.meta.url)

export interface AgentRigOptions {
  /** A folder for the files of both stores. A second rig in the same folder goes on where the first ended. */
  readonly folder: string
  readonly caller?: Layer.Layer<ServiceCaller>
  readonly callTimeoutMs?: number
  readonly openCallsMax?: number
  readonly sweepEveryMs?: number
  /** Called at each named step. */
  readonly steps?: StepHook
}

const timer = (folder: string) =>
  TimerCommands.layer({ topic: topics.commands, limits: defaultLimits }).pipe(
    Layer.provideMerge(Engine.layer()),
    Layer.provideMerge(
      Layer.effect(
        Deliverers,
        Effect.map(Bus, (bus) => ({ byType: new Map([["event" as const, makeEventDeliverer(bus)]]) })),
      ),
    ),
    Layer.provideMerge(WallClock.system),
    Layer.provideMerge(NamespaceDirectory.layer()),
    Layer.provideMerge(
      SqliteStore.layer({
        path: join(folder, "timers.db"),
        shards: 1,
        workerUrl: timersWorkerUrl,
        onFatal: () => {},
      }),
    ),
    Layer.provide(Ids.system),
  )

export const agentRig = (options: AgentRigOptions) => {
  const {
    folder,
    caller = FetchCaller.layer({ egress: openEgress }),
    callTimeoutMs = 60_000,
    openCallsMax = 100_000,
    sweepEveryMs = 10_000,
  } = options
  const modules = Layer.mergeAll(
    liveServiceCalls({ openCallsMax }),
    Orchestration.layer({ topics, retentionMs: 30 * 86_400_000, sweepEveryMs }),
    Execution.layer({ topics, owner: "rig" }),
    OutboxDispatcher.layer(),
  )
  return modules.pipe(
    Layer.provideMerge(timer(folder)),
    Layer.provideMerge(CallWriter.layer({ callTimeoutMs })),
    Layer.provideMerge(CallSignals.layer),
    Layer.provideMerge(Layer.succeed(RequestSeal, makeRequestSeal(new Uint8Array(32).fill(7)))),
    Layer.provideMerge(caller),
    Layer.provideMerge(SqliteCallStore.layer({ path: join(folder, "agent.db"), workerUrl: callWorkerUrl })),
    Layer.provideMerge(
      LocalBus.layer(
        new RoutingTable(
          { ...timerRoutes(timerTopics("shared")), ...agentRoutes(topics) },
          unheardAgentTypes,
        ),
        // Handlers that a test has stopped never finish.
        { intake: { ...defaultIntakeOptions, closeWithinMs: 100 } },
      ),
    ),
    Layer.provide(Layer.succeed(Steps, options.steps ?? { reached: () => Effect.void })),
    Layer.provide(Logger.layer([])),
  )
}

/** Opens the rig, runs the body, and closes the rig. */
export const inRig = (
  options: AgentRigOptions,
  body: (calls: ServiceCalls["Service"]) => Effect.Effect<void, unknown>,
): Promise<void> =>
  Effect.runPromise(
    Effect.flatMap(ServiceCalls, body).pipe(Effect.provide(agentRig(options))) as Effect.Effect<
      void,
      unknown
    >,
  )

/** Waits until the call has what is wanted. */
export const untilCall = (
  calls: ServiceCalls["Service"],
  key: SubmittedCall,
  isReached: (call: ServiceCall) => boolean,
): Effect.Effect<ServiceCall> =>
  Effect.promise(() =>
    eventually(
      `${key.serviceCallId} gets there`,
      async () => {
        const { call } = await Effect.runPromise(calls.get(key.tenantId, key.serviceCallId))
        return isReached(call) ? call : undefined
      },
      60_000,
    ),
  )
