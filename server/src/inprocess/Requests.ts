// The requests and answers of a program: those of the contract, but with Dates for instants.

import type { AdvanceClock, AdvanceClockAnswer } from "@punctual/api/AdvanceClock"
import type { CheckEgressAnswer, makeCheckEgress } from "@punctual/api/CheckEgress"
import type { ClusterAnswer } from "@punctual/api/Cluster"
import type { CreateManyTimersAnswer } from "@punctual/api/CreateManyTimers"
import type { makeCreateTimer } from "@punctual/api/CreateTimer"
import type { DeleteManyTimers, DeleteManyTimersAnswer } from "@punctual/api/DeleteManyTimers"
import type { DeleteTimer, DeleteTimerAnswer } from "@punctual/api/DeleteTimer"
import type { GetTimer, TimerAnswer } from "@punctual/api/GetTimer"
import type { CountTimers, CountTimersAnswer, makeListTimers } from "@punctual/api/ListTimers"
import type {
  GetNamespace,
  ListNamespacesAnswer,
  makeListNamespaces,
  makePutNamespace,
  NamespaceAnswer,
  PutNamespaceAnswer,
} from "@punctual/api/NamespaceSettings"
import type { DiscardTimersAnswer, ReplayTimers, ReplayTimersAnswer } from "@punctual/api/ReplayTimers"
import type {
  ListBreakersAnswer,
  PauseService,
  ResetBreakers,
  ResetBreakersAnswer,
  ResumeService,
  ServiceAnswer,
} from "@punctual/api/Service"
import type { TimerFilter } from "@punctual/api/TimerFilter"
import type { makeUpdateTimer } from "@punctual/api/UpdateTimer"
import type { CreatedTimer } from "../calls/TimerCalls.ts"

/** The fields of answers that are instants, at any depth. */
export const instantFields = [
  "executeAt",
  "fireAt",
  "attemptStartedAt",
  "at",
  "createdAt",
  "updatedAt",
  "finishedAt",
  "now",
  "since",
  "pausedSince",
] as const satisfies ReadonlyArray<string>

type InstantField = (typeof instantFields)[number]

/** Fields with data of callers, which are not converted. */
type CallersField = "payload" | "target" | "onDead"

/** An answer of the contract with its instants as Dates. */
type WithDates<Answer> =
  Answer extends ReadonlyArray<infer Item>
    ? ReadonlyArray<WithDates<Item>>
    : Answer extends object
      ? {
          readonly [field in keyof Answer]: field extends CallersField
            ? Answer[field]
            : field extends InstantField
              ? Date
              : WithDates<Answer[field]>
        }
      : Answer

/** A request of the contract whose instants may be Dates. */
type TakingDates<Request, Field extends keyof Request> = Omit<Request, Field> & {
  readonly [field in Field]?: Request[field] | Date
}

/** The same for a request that selects timers by a filter. */
type FilteringByDates<Request extends { readonly filter?: Filter }> = Omit<Request, "filter"> & {
  readonly filter?: TakingDates<Filter, "from" | "until">
}

type Filter = Encoded<typeof TimerFilter>

type Encoded<Codec extends { readonly Encoded: unknown }> = Codec["Encoded"]

export type NewTimer = TakingDates<Encoded<ReturnType<typeof makeCreateTimer>>, "executeAt">
export type TimerChange = TakingDates<Encoded<ReturnType<typeof makeUpdateTimer>>, "executeAt">
export type TimerName = Encoded<typeof GetTimer>
export type TimerCancel = Encoded<typeof DeleteTimer>
export type TimersCancel = FilteringByDates<Encoded<typeof DeleteManyTimers>>
export type TimerQuery = TakingDates<Encoded<ReturnType<typeof makeListTimers>>, "from" | "until">
export type TimerCount = TakingDates<Encoded<typeof CountTimers>, "from" | "until">
/** Selects dead letters. */
export type DeadTimers = FilteringByDates<Encoded<typeof ReplayTimers>>
export type ClockMove = TakingDates<Encoded<typeof AdvanceClock>, "to">
export type NamespaceTerms = Encoded<ReturnType<typeof makePutNamespace>>
export type NamespaceName = Encoded<typeof GetNamespace>
export type NamespaceQuery = Encoded<ReturnType<typeof makeListNamespaces>>
export type ServicePauseRequest = Encoded<typeof PauseService>
export type ServiceResumeRequest = Encoded<typeof ResumeService>
export type EgressQuestion = Encoded<ReturnType<typeof makeCheckEgress>>
export type BreakerReset = Encoded<typeof ResetBreakers>

export type ShownTimer = WithDates<Encoded<typeof TimerAnswer>>["timer"]

/** The keys are group and name of the calls in the contract. */
export interface Answers {
  readonly "timers.create": Pick<CreatedTimer, "result" | "warnings"> & { readonly timer: ShownTimer }
  readonly "timers.createMany": Encoded<typeof CreateManyTimersAnswer>
  readonly "timers.get": { readonly timer: ShownTimer }
  readonly "timers.update": Pick<CreatedTimer, "warnings"> & { readonly timer: ShownTimer }
  readonly "timers.delete": Encoded<typeof DeleteTimerAnswer>
  readonly "timers.deleteMany": Encoded<typeof DeleteManyTimersAnswer>
  readonly "timers.list": {
    readonly timers: ReadonlyArray<ShownTimer>
    readonly examined?: number
    readonly nextCursor?: string
  }
  readonly "timers.count": Encoded<typeof CountTimersAnswer>
  readonly "timers.replay": Encoded<typeof ReplayTimersAnswer>
  readonly "timers.discard": Encoded<typeof DiscardTimersAnswer>
  readonly "namespaces.put": WithDates<Encoded<typeof PutNamespaceAnswer>>
  readonly "namespaces.get": WithDates<Encoded<typeof NamespaceAnswer>>
  readonly "namespaces.list": WithDates<Encoded<typeof ListNamespacesAnswer>>
  readonly "service.get": WithDates<Encoded<typeof ServiceAnswer>>
  readonly "service.pause": WithDates<Encoded<typeof ServiceAnswer>>
  readonly "service.resume": WithDates<Encoded<typeof ServiceAnswer>>
  readonly "breakers.list": Encoded<typeof ListBreakersAnswer>
  readonly "breakers.reset": Encoded<typeof ResetBreakersAnswer>
  readonly "egress.check": Encoded<typeof CheckEgressAnswer>
  readonly "cluster.cluster": Encoded<typeof ClusterAnswer>
  readonly "clock.advance": WithDates<Encoded<typeof AdvanceClockAnswer>>
}

export type CallName = keyof Answers
