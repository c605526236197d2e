// The front of the engine: what HTTP, the bus and in-process callers ask of it. It turns a request into
// an item of the owning shard's write queue and answers when that is on stable storage. In a cluster the owner may
// be another node: the item is carried there, and what others carry here comes in by `accept`.
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
} from "../../domain/WriteItem.ts"
import type { AskedTimer, CarriedAnswer, CarriedItem } from "../../ports/Peers.ts"
import type {
  Counted,
  CountQuery,
  InvalidCursor,
  ListFilter,
  ListPage,
  ListQuery,
  StoreError,
  TimerStore,
} from "../../ports/TimerStore.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { OwnWrites } from "../writing/OwnWrites.ts"
import { CallerWrites, type CallerWritesParts } from "./CallerWrites.ts"
import { type DeadLetterCalls, makeDeadLetters } from "./DeadLetters.ts"
import type { FlightViews } from "./FlightViews.ts"
import { ItemMaker, type ItemMakerParts } from "./ItemMaker.ts"
import { matchNamespaces, type NamespacesAsked, type TooManyNamespaces } from "./matchNamespaces.ts"
import { type RefusedWrite, TimerUnreadable } from "./RefusedWrite.ts"
import type { ScheduleCommand, UnscheduleCommand } from "./scheduleItem.ts"

export interface CreateCommand extends AddedTerms {
  readonly namespace: string
  /** Made (UUID v7) when absent. */
  readonly timerId?: string
  readonly executeAt: number
  readonly spec: Spec
  readonly payload?: Uint8Array
  /** Made (a UUID) when absent. */
  readonly correlationId?: string
  readonly onExisting: OnExisting
}

export interface UpdateCommand {
  readonly namespace: string
  readonly timerId: string
  readonly ifRevision?: number
  readonly set: Change["set"]
}

/** A timer as a caller sees it: what is stored, whether an attempt is running now, and why a due one has not started. */
export type TimerView =
  | { readonly state: "pending"; readonly timer: Timer; readonly waiting?: Waiting }
  | { readonly state: "inFlight"; readonly timer: Timer; readonly startedAt: number }
  | { readonly state: FinishedState; readonly life: FinishedLife }

/** A query that says which namespaces it is over as callers do. */
export type Asking<Query> = Omit<Query, "namespace"> & { readonly namespace: NamespacesAsked }

/** How far a call came that looks for rare matches: how many rows it looked at, and where to go on if there are more. */
export interface ExaminedRows {
  readonly examined?: number
  readonly next?: string
}

export class Scheduler extends Context.Service<
  Scheduler,
  DeadLetterCalls & {
    create(command: CreateCommand): Effect.Effect<PutAnswer, RefusedWrite>
    /** In order; each gets its own answer or refusal. */
    createMany(commands: ReadonlyArray<CreateCommand>): Effect.Effect<ReadonlyArray<PutAnswer | RefusedWrite>>
    get(
      namespace: string,
      timerId: string,
    ): Effect.Effect<TimerView | undefined, StoreError | TimerUnreadable>
    update(command: UpdateCommand): Effect.Effect<ChangeAnswer, RefusedWrite>
    /** Creates the timer, or moves it as long as it has not begun to fire; else it is ignored. */
    schedule(command: ScheduleCommand): Effect.Effect<ScheduleAnswer, RefusedWrite>
    /** Cancels the timer unless an attempt runs or a later command has set it; else it is ignored. */
    unschedule(command: UnscheduleCommand): Effect.Effect<ScheduleAnswer, RefusedWrite>
    cancel(
      namespace: string,
      timerId: string,
      ifRevision: number | undefined,
    ): Effect.Effect<CancelAnswer, RefusedWrite>
    /** Cancels at most one bounded batch of what matches; `more` if it may not have been all. */
    cancelMany(
      namespace: string,
      filter: ListFilter,
      cursor?: string | undefined,
    ): Effect.Effect<
      { readonly cancelled: number; readonly inFlight: number; readonly more: boolean } & ExaminedRows,
      RefusedWrite | StoreError | InvalidCursor
    >
    list(
      query: Asking<ListQuery>,
    ): Effect.Effect<
      { readonly timers: ReadonlyArray<TimerView> } & ExaminedRows,
      StoreError | InvalidCursor | TooManyNamespaces
    >
    /** Counting stops at the limit, which is the scheduler's own if none is given. */
    count(
      query: Asking<Omit<CountQuery, "limit">> & { readonly limit?: number },
    ): Effect.Effect<Counted, StoreError | TooManyNamespaces>
    /** A pending timer with what it does now. Another node that owns it is asked. */
    viewOf(timer: Timer): Effect.Effect<TimerView>
    /** The same for a timer that was armed just now. No other node is asked. */
    viewWhenArmed(timer: Timer): TimerView
    /** Writes that another node carried here because this one owns their shards; an answer for each, in order. */
    accept(items: ReadonlyArray<CarriedItem>): Effect.Effect<ReadonlyArray<CarriedAnswer>>
    /** For each in order, what this node says about it as its owner. */
    firingHere(timers: ReadonlyArray<AskedTimer>): ReadonlyArray<FiringStatus>
  }
>()("punctual/engine/Scheduler") {}

export interface SchedulerParts extends CallerWritesParts, ItemMakerParts {
  readonly store: TimerStore["Service"]
  readonly flights: Pick<FlightViews, "statusesOf" | "statusesHere" | "statusWhenArmed">
  /** How many shards the store has; unknown until it has told. */
  readonly shards: () => number | undefined
  readonly metrics: EngineMetrics
}

/** Counting stops here and says so. */
const countAtMost = 100_000
/** How many timers one `cancelMany` cancels at most. */
const cancelsAtOnce = 1_000

export const makeScheduler = (parts: SchedulerParts): Scheduler["Service"] => {
  const { own, flights } = parts
  const writes = new CallerWrites(parts)
  const items = new ItemMaker(parts)
  return Scheduler.of({
    ...creating(writes, items),
    ...cancelling(parts.store, writes, items),
    ...reading(parts.store, flights, parts.shards),
    accept: (carried) => acceptAll(own, carried),
    firingHere: (timers) => flights.statusesHere(timers),
    ...makeDeadLetters({ ...parts, write: (item) => writes.answerOf(() => item) }),
  })
}

type Calls = Scheduler["Service"]

const creating = (
  writes: CallerWrites,
  items: ItemMaker,
): Pick<Calls, "create" | "createMany" | "update" | "schedule" | "unschedule"> => ({
  create: (command) => writes.answerOf<PutAnswer>(() => items.put(command)),
  createMany: (commands) =>
    writes.answersOf<PutAnswer, CreateCommand>(commands, (command) => items.put(command)),
  update: (command) => writes.answerOf<ChangeAnswer>(() => items.change(command)),
  schedule: (command) => writes.answerOf<ScheduleAnswer>(() => items.schedule(command)),
  unschedule: (command) => writes.answerOf<ScheduleAnswer>(() => items.unschedule(command)),
})

const cancelling = (
  store: SchedulerParts["store"],
  writes: CallerWrites,
  items: ItemMaker,
): Pick<Calls, "cancel" | "cancelMany"> => {
  const cancelled = (key: TimerKey, ifRevision: number | undefined) =>
    writes.answerOf<CancelAnswer>(() => items.cancel(key, ifRevision))
  return {
    cancel: (namespace, timerId, ifRevision) => cancelled(keyOf(namespace, timerId), ifRevision),
    cancelMany: Effect.fnUntraced(function* (namespace, filter, cursor) {
      const { found, more, ...examined } = yield* pendingMatching(store, namespace, filter, cursor)
      // Only as it was found: what was changed since may no longer match.
      const answers = yield* Effect.forEach(found, (timer) => cancelled(timer, timer.revision), {
        concurrency: "unbounded",
      })
      const count = (result: CancelAnswer["result"]) =>
        answers.filter((answer) => answer.result === result).length
      return { cancelled: count("cancelled"), inFlight: count("inFlight"), more, ...examined }
    }),
  }
}

/**
 * The first timers that match, at most `cancelsAtOnce`, and whether there may be more. With a filter that has no index, a
 * call looks at one page, and the next call goes on behind it.
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
    // A page may be empty for its bound on rows looked at: go on until there is something to cancel.
    if (!more || found.length > 0) return { found, more }
    cursor = next
  }
})

const reading = (
  store: SchedulerParts["store"],
  flights: SchedulerParts["flights"],
  shards: SchedulerParts["shards"],
): Pick<Calls, "get" | "list" | "count" | "viewOf" | "viewWhenArmed"> => ({
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
  viewOf: (timer) =>
    Effect.map(flights.statusesOf([timer]), (statuses) => pendingView(timer, statuses.get(timer.fireId))),
  viewWhenArmed: (timer) => pendingView(timer, flights.statusWhenArmed(timer)),
})

const pendingView = (timer: Timer, { inFlightSinceMs, waiting }: FiringStatus = {}): TimerView => {
  if (inFlightSinceMs !== undefined) return { state: "inFlight", timer, startedAt: inFlightSinceMs }
  return waiting === undefined ? { state: "pending", timer } : { state: "pending", timer, waiting }
}

/** Answers when all of them are answered. */
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
