// The front of the engine, for HTTP, the bus and in-process callers. It turns a request into an item of the write queue
// of the owning shard, and answers when the item is on stable storage. In a cluster the owner may be another node: then
// this node forwards the item. Items that other nodes forward to this one come in through `accept`.
import { Context, Effect } from "effect"
import type { FinishedLife, FinishedState, Spec, Timer, TimerKey } from "../../domain/Timer.ts"
import { keyOf } from "../../domain/TimerKey.ts"
import type { AddedTerms } from "../../domain/timerFields.ts"
import { unreadableReason } from "../../domain/unreadableKey.ts"
import type { FiringStatus, Waiting } from "../../domain/Waiting.ts"
import type {
  CancelAnswer,
  Change,
  ChangeAnswer,
  OnExisting,
  PutAnswer,
  ScheduleAnswer,
  Unstorable,
} from "../../domain/WriteItem.ts"
import type { CensusAnswer, CensusQuestion } from "../../ports/CensusCounts.ts"
import type { AskedTimer, CarriedAnswer, CarriedItem } from "../../ports/Peers.ts"
import type {
  Counted,
  CountQuery,
  HistogramQuery,
  InvalidCursor,
  ListFilter,
  ListPage,
  ListQuery,
  StoreError,
  TimerStore,
} from "../../ports/TimerStore.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { OwnWrites } from "../writing/OwnWrites.ts"
import { type BulkStep, type BulkStepDone, type BulkStepError, makeBulkStep } from "./BulkSteps.ts"
import { CallerWrites, type CallerWritesParts } from "./CallerWrites.ts"
import { type DeadLetterCalls, type DeadLetterParts, makeDeadLetters } from "./DeadLetters.ts"
import type { FlightViews } from "./FlightViews.ts"
import type { Histogram, Histograms } from "./Histograms.ts"
import { ItemMaker, type ItemMakerParts } from "./ItemMaker.ts"
import { matchNamespaces, type NamespacesAsked, type TooManyNamespaces } from "./matchNamespaces.ts"
import { type RefusedWrite, TimerUnreadable } from "./RefusedWrite.ts"
import type { ScheduleCommand, UnscheduleCommand } from "./scheduleItem.ts"

export interface CreateCommand extends AddedTerms {
  readonly namespace: string
  /** If absent, the service makes a UUID v7. */
  readonly timerId?: string
  readonly executeAt: number
  readonly spec: Spec
  readonly payload?: Uint8Array
  /** If absent, the service makes a UUID. */
  readonly correlationId?: string
  readonly onExisting: OnExisting
}

export interface UpdateCommand {
  readonly namespace: string
  readonly timerId: string
  readonly ifRevision?: number
  readonly set: Change["set"]
}

/** A timer for a caller: the stored timer, whether an attempt is running, and why a due timer has not started. */
export type TimerView =
  | { readonly state: "pending"; readonly timer: Timer; readonly waiting?: Waiting }
  | { readonly state: "inFlight"; readonly timer: Timer; readonly startedAt: number }
  | { readonly state: FinishedState; readonly life: FinishedLife }

/** The answer to one create. */
export type CreateAnswer = Exclude<PutAnswer, Unstorable> | RefusedWrite

/** A query whose namespaces have the form that callers use. */
export type Asking<Query> = Omit<Query, "namespace"> & { readonly namespace: NamespacesAsked }

/** The progress of a call with a filter without an index: the number of rows examined, and where to continue. */
export interface ExaminedRows {
  readonly examined?: number
  readonly next?: string
}

export class Scheduler extends Context.Service<
  Scheduler,
  DeadLetterCalls & {
    create(command: CreateCommand): Effect.Effect<PutAnswer, RefusedWrite>
    /**
     * The same without an effect, because a fiber for each create costs as much as the create. Calls `onAnswer` once,
     * later. False if the create has to wait for something before it is written, such as a quota: then nothing has
     * happened, and only `create` can do it.
     */
    createNow(command: CreateCommand, onAnswer: (answer: CreateAnswer) => void): boolean
    /** Creates in order. Each command gets its own answer or refusal. */
    createMany(commands: ReadonlyArray<CreateCommand>): Effect.Effect<ReadonlyArray<PutAnswer | RefusedWrite>>
    get(
      namespace: string,
      timerId: string,
    ): Effect.Effect<TimerView | undefined, StoreError | TimerUnreadable>
    update(command: UpdateCommand): Effect.Effect<ChangeAnswer, RefusedWrite>
    /** Creates the timer, or moves it if no attempt has started. Otherwise the command is ignored. */
    schedule(command: ScheduleCommand): Effect.Effect<ScheduleAnswer, RefusedWrite>
    /** Cancels the timer. The command is ignored if an attempt is running or a later command has set the timer. */
    unschedule(command: UnscheduleCommand): Effect.Effect<ScheduleAnswer, RefusedWrite>
    cancel(
      namespace: string,
      timerId: string,
      ifRevision: number | undefined,
    ): Effect.Effect<CancelAnswer, RefusedWrite>
    /** Cancels a limited number of matching timers. `more` says that there may be others. */
    cancelMany(
      namespace: string,
      filter: ListFilter,
      cursor?: string | undefined,
    ): Effect.Effect<
      { readonly cancelled: number; readonly inFlight: number; readonly more: boolean } & ExaminedRows,
      RefusedWrite | StoreError | InvalidCursor
    >
    /** Replays, discards or cancels one page of the timers that a job selects. It may be repeated. */
    bulkStep(step: BulkStep): Effect.Effect<BulkStepDone, BulkStepError>
    list(
      query: Asking<ListQuery>,
    ): Effect.Effect<
      { readonly timers: ReadonlyArray<TimerView> } & ExaminedRows,
      StoreError | InvalidCursor | TooManyNamespaces
    >
    /** Counting stops at the limit, which has a default. */
    count(
      query: Asking<Omit<CountQuery, "limit">> & { readonly limit?: number },
    ): Effect.Effect<Counted, StoreError | TooManyNamespaces>
    /** Counts by time. If there are too many to count, pending timers are estimated. */
    histogram(query: Asking<HistogramQuery>): Effect.Effect<Histogram, StoreError | TooManyNamespaces>
    /** A pending timer with its current status. If another node owns it, that node is asked. */
    viewOf(timer: Timer): Effect.Effect<TimerView>
    /** The same for a timer that was just armed. No other node is asked. */
    viewWhenArmed(timer: Timer): TimerView
    /** Carries out writes that another node forwarded to this owner. The answers are in order. */
    accept(items: ReadonlyArray<CarriedItem>): Effect.Effect<ReadonlyArray<CarriedAnswer>>
    /** The statuses of timers that this node owns, in order. */
    firingHere(timers: ReadonlyArray<AskedTimer>): ReadonlyArray<FiringStatus>
    /** How many pending timers the census of this node counts in its shards. `undefined` if it counts nothing. */
    countsHere(question: CensusQuestion): Effect.Effect<CensusAnswer | undefined>
  }
>()("punctual/engine/Scheduler") {}

export interface SchedulerParts extends CallerWritesParts, ItemMakerParts {
  readonly store: TimerStore["Service"]
  readonly own: Pick<OwnWrites, "begin" | "put">
  readonly flights: Pick<FlightViews, "statusesOf" | "statusesHere" | "statusWhenArmed">
  readonly histograms: Pick<Histograms, "of" | "countsHere">
  /** The number of shards of the store; `undefined` until it is known. */
  readonly shards: () => number | undefined
  readonly metrics: EngineMetrics
}

/** The default limit of counts. */
const countAtMost = 100_000
/** One `cancelMany` cancels at most this many timers. */
const cancelsAtOnce = 1_000

export const makeScheduler = (parts: SchedulerParts): Scheduler["Service"] => {
  const { own, flights } = parts
  const writes = new CallerWrites(parts)
  const items = new ItemMaker(parts)
  const deadParts: DeadLetterParts = { ...parts, write: (item) => writes.answerOf(() => item) }
  const cancelled: CancelOne = (key, ifRevision) =>
    writes.answerOf<CancelAnswer>(() => items.cancel(key, ifRevision))
  return Scheduler.of({
    ...creating(writes, items),
    ...cancelling(parts.store, cancelled),
    ...reading(parts),
    accept: (carried) => acceptAll(own, carried),
    firingHere: (timers) => flights.statusesHere(timers),
    ...makeDeadLetters(deadParts),
    bulkStep: makeBulkStep({
      ...parts,
      write: deadParts.write,
      cancelled: (timer) => cancelled(timer, timer.revision),
    }),
    countsHere: (question) => parts.histograms.countsHere(question),
  })
}

type Calls = Scheduler["Service"]

const creating = (
  writes: CallerWrites,
  items: ItemMaker,
): Pick<Calls, "create" | "createNow" | "createMany" | "update" | "schedule" | "unschedule"> => ({
  create: (command) => writes.answerOf<PutAnswer>(() => items.put(command)),
  createNow: (command, onAnswer) => {
    writes.beginInTime<PutAnswer>(items.put(command), onAnswer)
    return true
  },
  createMany: (commands) =>
    writes.answersOf<PutAnswer, CreateCommand>(commands, (command) => items.put(command)),
  update: (command) => writes.answerOf<ChangeAnswer>(() => items.change(command)),
  schedule: (command) => writes.answerOf<ScheduleAnswer>(() => items.schedule(command)),
  unschedule: (command) => writes.answerOf<ScheduleAnswer>(() => items.unschedule(command)),
})

type CancelOne = (
  key: TimerKey,
  ifRevision: number | undefined,
) => Effect.Effect<Exclude<CancelAnswer, Unstorable>, RefusedWrite>

const cancelling = (
  store: SchedulerParts["store"],
  cancelled: CancelOne,
): Pick<Calls, "cancel" | "cancelMany"> => ({
  cancel: (namespace, timerId, ifRevision) => cancelled(keyOf(namespace, timerId), ifRevision),
  cancelMany: Effect.fnUntraced(function* (namespace, filter, cursor) {
    const { found, more, ...examined } = yield* pendingMatching(store, namespace, filter, cursor)
    // Only at the revision that was found: a timer that changed since may no longer match.
    const answers = yield* Effect.forEach(found, (timer) => cancelled(timer, timer.revision), {
      concurrency: "unbounded",
    })
    const count = (result: CancelAnswer["result"]) =>
      answers.filter((answer) => answer.result === result).length
    return { cancelled: count("cancelled"), inFlight: count("inFlight"), more, ...examined }
  }),
})

/**
 * The first matching timers, at most `cancelsAtOnce`, and whether there may be more. With a filter without an index, a
 * call reads one page, and the next call continues after it.
 */
const pendingMatching = Effect.fnUntraced(function* (
  store: SchedulerParts["store"],
  namespace: string,
  filter: ListFilter,
  begin: string | undefined,
) {
  let cursor = begin
  for (;;) {
    const { items, examined, next }: ListPage = yield* store.list({
      ...filter,
      namespace,
      state: "pending",
      reversed: false,
      includePayload: false,
      limit: cancelsAtOnce,
      ...(cursor === undefined ? {} : { cursor }),
    })
    const found = items.flatMap((item) => (item.state === "pending" ? [item.timer] : []))
    const more = next !== undefined
    if (examined !== undefined) return { found, more, examined, ...(more ? { next } : {}) }
    // A page may be empty because of its limit of rows. Continue until there is something to cancel.
    if (!more || found.length > 0) return { found, more }
    cursor = next
  }
})

const reading = ({
  store,
  flights,
  histograms,
  shards,
}: SchedulerParts): Pick<Calls, "get" | "list" | "count" | "histogram" | "viewOf" | "viewWhenArmed"> => ({
  get: Effect.fnUntraced(function* (namespace, timerId) {
    const { pending, last } = yield* store.find(keyOf(namespace, timerId))
    const why = (pending ?? last)?.spec.unreadable
    if (why !== undefined) return yield* new TimerUnreadable({ reason: unreadableReason(why) })
    if (pending !== undefined) {
      return pendingView(pending, (yield* flights.statusesOf([pending])).get(pending.fireId))
    }
    return last === undefined ? undefined : { state: last.state, life: last }
  }),
  list: Effect.fnUntraced(function* (query) {
    const namespace = yield* matchNamespaces(store, query, shards())
    const { items, examined, next } = yield* store.list({ ...query, namespace })
    const pending = items.flatMap((item) => (item.state === "pending" ? [item.timer] : []))
    const statuses = yield* flights.statusesOf(pending)
    const timers = items.map((item) =>
      item.state === "pending" ? pendingView(item.timer, statuses.get(item.timer.fireId)) : item,
    )
    return {
      timers,
      ...(examined === undefined ? {} : { examined }),
      ...(next === undefined ? {} : { next }),
    }
  }),
  count: (query) =>
    Effect.flatMap(matchNamespaces(store, query, shards()), (namespace) =>
      store.count({ limit: countAtMost, ...query, namespace }),
    ),
  histogram: (query) =>
    Effect.flatMap(matchNamespaces(store, query, shards()), (namespace) =>
      histograms.of({ ...query, namespace }),
    ),
  viewOf: (timer) =>
    Effect.map(flights.statusesOf([timer]), (statuses) => pendingView(timer, statuses.get(timer.fireId))),
  viewWhenArmed: (timer) => pendingView(timer, flights.statusWhenArmed(timer)),
})

const pendingView = (timer: Timer, { inFlightSinceMs, waiting }: FiringStatus = {}): TimerView => {
  if (inFlightSinceMs !== undefined) return { state: "inFlight", timer, startedAt: inFlightSinceMs }
  return waiting === undefined ? { state: "pending", timer } : { state: "pending", timer, waiting }
}

/** Completes when all items have an answer. */
const acceptAll = (
  own: Pick<OwnWrites, "put">,
  items: ReadonlyArray<CarriedItem>,
): Effect.Effect<ReadonlyArray<CarriedAnswer>> =>
  Effect.callback((resume) => {
    const answers = new Array<CarriedAnswer>(items.length)
    let missing = items.length
    if (missing === 0) resume(Effect.succeed(answers))
    for (const [index, item] of items.entries()) {
      own.put(item, (answer) => {
        answers[index] = answer
        if (--missing === 0) resume(Effect.succeed(answers))
      })
    }
  })
