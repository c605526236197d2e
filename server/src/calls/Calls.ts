// All calls of the contract, by group and name as in its definition.
import { type ContractEndpoint, contractEndpoints } from "@punctual/api/contractEndpoints"
import type { Limits } from "@punctual/api/Limits"
import type { UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { AuditTrail } from "@punctual/door/AuditTrail"
import { Effect } from "effect"
import type { BulkJobs } from "../bulk/BulkJobs.ts"
import type { ActivityLog } from "../engine/activity/ActivityLog.ts"
import type { Engine } from "../engine/Engine.ts"
import type { Scheduler } from "../engine/front/Scheduler.ts"
import type { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import type { Deliverers } from "../ports/Deliverer.ts"
import { WallClock } from "../ports/WallClock.ts"
import { type ActivityCalls, makeActivityCalls } from "./ActivityCalls.ts"
import { type AuditCalls, makeAuditCalls } from "./AuditCalls.ts"
import { auditedCall } from "./auditedCall.ts"
import { type BreakerCalls, makeBreakerCalls } from "./BreakerCalls.ts"
import { type BulkCalls, makeBulkCalls } from "./BulkCalls.ts"
import type { Call } from "./Call.ts"
import { type ClockCalls, makeClockCalls } from "./ClockCalls.ts"
import { type ClusterCalls, type ClusterParts, makeClusterCalls } from "./ClusterCalls.ts"
import { type EgressCalls, makeEgressCalls } from "./EgressCalls.ts"
import { type HistogramCalls, makeHistogramCalls } from "./HistogramCalls.ts"
import { type KeyCalls, type KeyParts, makeKeyCalls } from "./KeyCalls.ts"
import { type MessageCalls, makeMessageCalls } from "./MessageCalls.ts"
import { makeNamespaceCalls, type NamespaceCalls } from "./NamespaceCalls.ts"
import { makeReplayCalls, type ReplayCalls } from "./ReplayCalls.ts"
import { type AboutService, type CallsAboutService, makeServiceCalls } from "./ServiceCalls.ts"
import { makeSessionCalls, type SessionCalls, type SessionParts } from "./SessionCalls.ts"
import { makeTimerCalls, type TimerCalls } from "./TimerCalls.ts"

export interface Calls {
  readonly timers: TimerCalls & ReplayCalls & HistogramCalls & ActivityCalls
  readonly bulk: BulkCalls
  readonly namespaces: NamespaceCalls
  readonly service: CallsAboutService
  readonly breakers: BreakerCalls
  readonly cluster: ClusterCalls
  readonly clock: ClockCalls
  readonly egress: EgressCalls
  readonly messages: MessageCalls
  readonly keys: KeyCalls
  readonly sessions: SessionCalls
  readonly audit: AuditCalls
}

export interface CallsOptions {
  readonly limits: Limits
  /** Absent in a program with the engine inside. */
  readonly about?: AboutService
  /** Present if several nodes share the store. */
  readonly cluster?: ClusterParts
  /** The messages that could not be handled; present if there is a bus. */
  readonly messages?: UndeliverableMessages["Service"]
  /** Absent in a program with the engine inside. */
  readonly keys?: KeyParts & SessionParts
}

export const makeCalls = ({
  limits,
  about,
  cluster = {},
  messages,
  keys,
}: CallsOptions): Effect.Effect<
  Calls,
  never,
  Scheduler | Deliverers | Engine | NamespaceDirectory | WallClock | AuditTrail | BulkJobs | ActivityLog
> =>
  Effect.gen(function* () {
    const calls: Calls = {
      timers: {
        ...(yield* makeTimerCalls(limits)),
        ...(yield* makeReplayCalls),
        ...(yield* makeHistogramCalls),
        ...(yield* makeActivityCalls(cluster.activity)),
      },
      bulk: yield* makeBulkCalls(limits),
      namespaces: yield* makeNamespaceCalls(limits),
      service: yield* makeServiceCalls(about),
      breakers: yield* makeBreakerCalls,
      cluster: yield* makeClusterCalls(cluster),
      clock: yield* makeClockCalls,
      egress: yield* makeEgressCalls,
      messages: makeMessageCalls(messages),
      keys: makeKeyCalls(keys),
      sessions: makeSessionCalls(keys),
      audit: yield* makeAuditCalls(limits),
    }
    return withAudit(calls, limits, yield* AuditTrail, yield* WallClock)
  })

/** The calls of endpoints that declare it are audited. */
const withAudit = (
  calls: Calls,
  limits: Limits,
  trail: AuditTrail["Service"],
  { now }: WallClock["Service"],
): Calls => {
  const groups: Record<string, object> = { ...calls }
  for (const endpoint of contractEndpoints(limits)) {
    const { group, name, isAudited } = endpoint
    if (isAudited !== true) continue
    const audited = auditedCall(`${group}.${name}`, callOf(calls, endpoint), trail, now)
    groups[group] = { ...groups[group], [name]: audited }
  }
  // Each audited call takes and answers the same as the call that it replaces.
  return groups as unknown as Calls
}

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
