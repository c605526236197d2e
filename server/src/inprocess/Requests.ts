// The requests and answers of a program: those of the contract, but with Dates for instants.

import type { AdvanceClock, AdvanceClockAnswer } from "@punctual/api/AdvanceClock"
import type { BulkAnswer, GetBulk, ListBulkAnswer, makeListBulk, StartBulk } from "@punctual/api/BulkJobs"
import type { CheckEgressAnswer, makeCheckEgress } from "@punctual/api/CheckEgress"
import type { ClusterAnswer } from "@punctual/api/Cluster"
import type { CreateManyTimersAnswer } from "@punctual/api/CreateManyTimers"
import type { makeCreateTimer } from "@punctual/api/CreateTimer"
import type { DeleteManyTimers, DeleteManyTimersAnswer } from "@punctual/api/DeleteManyTimers"
import type { DeleteTimer, DeleteTimerAnswer } from "@punctual/api/DeleteTimer"
import type { GetTimer, TimerAnswer } from "@punctual/api/GetTimer"
import type { ListAuditAnswer, makeListAudit } from "@punctual/api/ListAudit"
import type { makeListLives } from "@punctual/api/ListLives"
import type { CountTimers, CountTimersAnswer, makeListTimers } from "@punctual/api/ListTimers"
import type {
  GetNamespace,
  ListNamespacesAnswer,
  makeListNamespaces,
  makePutNamespace,
  NamespaceAnswer,
  PutNamespaceAnswer,
} from "@punctual/api/NamespaceSettings"
import type {
  DiscardTimers,
  DiscardTimersAnswer,
  ReplayTimers,
  ReplayTimersAnswer,
} from "@punctual/api/ReplayTimers"
import type {
  ListBreakersAnswer,
  PauseService,
  ResetBreakers,
  ResetBreakersAnswer,
  ResumeService,
  ServiceAnswer,
} from "@punctual/api/Service"
import type { ActivityAnswer, GetActivity } from "@punctual/api/TimerActivity"
import type { TimerFilter } from "@punctual/api/TimerFilter"
import type { TimerHistogram, TimerHistogramAnswer } from "@punctual/api/TimerHistogram"
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
  "startedAt",
  "finishedAt",
  "now",
  "since",
  "pausedSince",
  "from",
  "until",
  "asOf",
  "countedUntil",
] as const satisfies ReadonlyArray<string>

type InstantField = (typeof instantFields)[number]

/** Fields with data of callers, or of any form, which are not converted. */
export const plainFields = [
  "payload",
  "target",
  "onDead",
  "filter",
  "about",
  "before",
  "after",
] as const satisfies ReadonlyArray<string>

type PlainField = (typeof plainFields)[number]

/** An answer of the contract with its instants as Dates. */
type WithDates<Answer> =
  Answer extends ReadonlyArray<infer Item>
    ? ReadonlyArray<WithDates<Item>>
    : Answer extends object
      ? {
          readonly [field in keyof Answer]: field extends PlainField
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
export type LivesQuery = Encoded<ReturnType<typeof makeListLives>>
export type HistogramQuestion = Omit<Encoded<typeof TimerHistogram>, "filter"> & {
  readonly filter: TimerCount & { readonly from: string | Date; readonly until: string | Date }
}
/** Selects dead letters. */
export type DeadTimers = FilteringByDates<Encoded<typeof ReplayTimers>>
export type DeadTimersToDiscard = FilteringByDates<Encoded<typeof DiscardTimers>>
export type ClockMove = TakingDates<Encoded<typeof AdvanceClock>, "to">
export type NamespaceTerms = Encoded<ReturnType<typeof makePutNamespace>>
export type NamespacePause = Pick<NamespaceTerms, "namespace" | "pauseReason">
export type NamespaceName = Encoded<typeof GetNamespace>
export type NamespaceQuery = Encoded<ReturnType<typeof makeListNamespaces>>
export type ServicePauseRequest = Encoded<typeof PauseService>
export type ServiceResumeRequest = Encoded<typeof ResumeService>
export type EgressQuestion = Encoded<ReturnType<typeof makeCheckEgress>>
export type ActivityQuestion = TakingDates<Encoded<typeof GetActivity>, "from" | "until">
export type AuditQuestion = TakingDates<Encoded<ReturnType<typeof makeListAudit>>, "since" | "until">
export type NewBulk = Omit<Encoded<typeof StartBulk>, "filter"> & {
  readonly filter: TakingDates<Encoded<typeof StartBulk>["filter"], "from" | "until">
}
export type BulkName = Encoded<typeof GetBulk>
export type BulkQuery = Encoded<ReturnType<typeof makeListBulk>>
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
  readonly "timers.histogram": WithDates<Encoded<typeof TimerHistogramAnswer>>
  readonly "timers.lives": { readonly lives: ReadonlyArray<ShownTimer>; readonly nextCursor?: string }
  readonly "timers.activity": WithDates<Encoded<typeof ActivityAnswer>>
  readonly "timers.replay": Encoded<typeof ReplayTimersAnswer>
  readonly "timers.discard": Encoded<typeof DiscardTimersAnswer>
  readonly "bulk.start": WithDates<Encoded<typeof BulkAnswer>>
  readonly "bulk.get": WithDates<Encoded<typeof BulkAnswer>>
  readonly "bulk.list": WithDates<Encoded<typeof ListBulkAnswer>>
  readonly "bulk.abort": WithDates<Encoded<typeof BulkAnswer>>
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
  readonly "audit.list": WithDates<Encoded<typeof ListAuditAnswer>>
  readonly "clock.advance": WithDates<Encoded<typeof AdvanceClockAnswer>>
}

export type CallName = keyof Answers
