// All calls of the contract, by group and name as in its definition.
import type { ContractEndpoint } from "@punctual/api/contractEndpoints"
import type { Limits } from "@punctual/api/Limits"
import type { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Effect } from "effect"
import type { Engine } from "../engine/Engine.ts"
import type { Scheduler } from "../engine/front/Scheduler.ts"
import type { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import type { Deliverers } from "../ports/Deliverer.ts"
import type { WallClock } from "../ports/WallClock.ts"
import { type BreakerCalls, makeBreakerCalls } from "./BreakerCalls.ts"
import type { Call } from "./Call.ts"
import { type ClockCalls, makeClockCalls } from "./ClockCalls.ts"
import { type ClusterCalls, type ClusterParts, makeClusterCalls } from "./ClusterCalls.ts"
import { type EgressCalls, makeEgressCalls } from "./EgressCalls.ts"
import { type MessageCalls, makeMessageCalls } from "./MessageCalls.ts"
import { makeNamespaceCalls, type NamespaceCalls } from "./NamespaceCalls.ts"
import { makeReplayCalls, type ReplayCalls } from "./ReplayCalls.ts"
import { makeServiceCalls, type ServiceCalls } from "./ServiceCalls.ts"
import { makeTimerCalls, type TimerCalls } from "./TimerCalls.ts"

export interface Calls {
  readonly timers: TimerCalls & ReplayCalls
  readonly namespaces: NamespaceCalls
  readonly service: ServiceCalls
  readonly breakers: BreakerCalls
  readonly cluster: ClusterCalls
  readonly clock: ClockCalls
  readonly egress: EgressCalls
  readonly messages: MessageCalls
}

export interface CallsOptions {
  readonly limits: Limits
  /** Present if several nodes share the store. */
  readonly cluster?: ClusterParts
  /** The messages that could not be handled; present if there is a bus. */
  readonly messages?: UndeliverableMessages["Service"]
}

export const makeCalls = ({
  limits,
  cluster = {},
  messages,
}: CallsOptions): Effect.Effect<
  Calls,
  never,
  Scheduler | Deliverers | Engine | NamespaceDirectory | WallClock
> =>
  Effect.gen(function* () {
    return {
      timers: { ...(yield* makeTimerCalls(limits)), ...(yield* makeReplayCalls) },
      namespaces: yield* makeNamespaceCalls(limits),
      service: yield* makeServiceCalls,
      breakers: yield* makeBreakerCalls,
      cluster: yield* makeClusterCalls(cluster),
      clock: yield* makeClockCalls,
      egress: yield* makeEgressCalls,
      messages: makeMessageCalls(messages),
    }
  })

/** The call of an endpoint. Its input is what the schema of the endpoint decodes. */
export const callOf = (
  calls: Calls,
  { group, name }: Pick<ContractEndpoint, "group" | "name">,
): Call<unknown, unknown> => {
  const groups = new Map<string, object>(Object.entries(calls))
  const call = new Map<string, unknown>(Object.entries(groups.get(group) ?? {})).get(name)
  if (typeof call !== "function") throw new Error(`the endpoint ${group}.${name} has no call`)
  // The types of `calls` follow from the same contract as the endpoint, so the call takes what its endpoint decodes.
  return call as Call<unknown, unknown>
}
