// The front of the engine: what HTTP, the bus and in-process callers ask of it. It turns a request into
// an item of the owning shard's write queue and answers when that is on stable storage. In a cluster the owner may
// be another node: the item is carried there, and what others carry here comes in by `accept`.
import { Context, Effect, Schema } from "effect"
import type { FinishedLife, FinishedState, Mutable, Spec, Timer, TimerKey } from "../../domain/Timer.ts"
import { keyOf } from "../../domain/TimerKey.ts"
import { type AddedTerms, copyAdded } from "../../domain/timerFields.ts"
import { unreadableReason } from "../../domain/unreadableKey.ts"
import type {
  Cancel,
  CancelAnswer,
  Change,
  ChangeAnswer,
  OnExisting,
  Put,
  PutAnswer,
  Schedule,
  ScheduleAnswer,
  Unstorable,
  WriteAnswer,
} from "../../domain/WriteItem.ts"
import { keyOfItem } from "../../domain/WriteItem.ts"
import { madeCorrelationId } from "../../domain/words.ts"
import type { Ids } from "../../ports/Ids.ts"
import type { CarriedAnswer, CarriedItem } from "../../ports/Peers.ts"
import type {
  InvalidCursor,
  Listed,
  ListFilter,
  ListPage,
  ListQuery,
  StoreError,
  TimerStore,
} from "../../ports/TimerStore.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { CarriedResult } from "../forwarding/CarriedWrite.ts"
import type { Forwarder } from "../forwarding/Forwarder.ts"
import type { QuotaExceeded } from "../namespaces/Quotas.ts"
import { type OwnWrites, retryAfterMs } from "../writing/OwnWrites.ts"
import { type DeadLetterCalls, makeDeadLetters } from "./DeadLetters.ts"
import type { FlightViews } from "./FlightViews.ts"

/** The queue is full: nothing was written, ask again after the pause. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  retryAfterMs: Schema.Number,
}) {}

/**
 * No owner of the key's shard could do it (this process waits, drains, or lost the shard, or the node that owns it is
 * not in reach): ask again after the pause. `message` is a clause without an end, for others to go on.
 */
export class OwnerUnavailable extends Schema.TaggedError<OwnerUnavailable>()("OwnerUnavailable", {
  message: Schema.String,
  retryAfterMs: Schema.Number,
  /** The result is not known; absent or false: nothing was written. */
  mayBeDone: Schema.optionalKey(Schema.Boolean),
}) {}

/** The store cannot hold this timer, and never will. */
export class TimerUnstorable extends Schema.TaggedError<TimerUnstorable>()("TimerUnstorable", {
  reason: Schema.String,
}) {}

/** What is stored under the key cannot be read. It stays as it is until an operator repairs it. */
export class TimerUnreadable extends Schema.TaggedError<TimerUnreadable>()("TimerUnreadable", {
  reason: Schema.String,
}) {}

export type RefusedWrite = Overloaded | OwnerUnavailable | TimerUnstorable | TimerUnreadable | QuotaExceeded

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

/** A due time asked for over the bus. */
export interface ScheduleCommand {
  readonly namespace: string
  readonly timerId: string
  readonly executeAt: number
  /** Of the timer that it creates; one that is there keeps its own. */
  readonly spec: Spec
  /** Made (a UUID) when absent. */
  readonly correlationId?: string
  /** The sender's own time stamp of the command. */
  readonly askedAt: number
}

/** A timer as a caller sees it: what is stored, and whether an attempt is running now. */
export type TimerView =
  | { readonly state: "pending" | "inFlight"; readonly timer: Timer }
  | { readonly state: FinishedState; readonly life: FinishedLife }

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
    cancel(
      namespace: string,
      timerId: string,
      ifRevision: number | undefined,
    ): Effect.Effect<CancelAnswer, RefusedWrite>
    /** Cancels at most one bounded batch of what matches; `more` if it may not have been all. */
    cancelMany(
      namespace: string,
      filter: ListFilter,
    ): Effect.Effect<
      { readonly cancelled: number; readonly inFlight: number; readonly more: boolean },
      RefusedWrite | StoreError
    >
    list(
      query: ListQuery,
    ): Effect.Effect<
      { readonly timers: ReadonlyArray<TimerView>; readonly next?: string },
      StoreError | InvalidCursor
    >
    /** Counting stops at the limit, which is the scheduler's own if none is given. */
    count(
      query: ListFilter & Pick<ListQuery, "namespace" | "state"> & { readonly limit?: number },
    ): Effect.Effect<{ readonly count: number; readonly capped: boolean }, StoreError>
    /** Whether an attempt of the arming is running now; where another node owns it, by that node's word. */
    isInFlight(timer: Timer): Effect.Effect<boolean>
    /** Writes that another node carried here because this one owns their shards; an answer for each, in order. */
    accept(items: ReadonlyArray<CarriedItem>): Effect.Effect<ReadonlyArray<CarriedAnswer>>
    /** For each in order, whether an attempt of it is running here. */
    isInFlightHere(fireIds: ReadonlyArray<string>): ReadonlyArray<boolean>
  }
>()("punctual/engine/Scheduler") {}

export interface SchedulerParts {
  readonly store: TimerStore["Service"]
  readonly own: Pick<OwnWrites, "put">
  /** Absent where one process has the store to itself. */
  readonly forwarder: Pick<Forwarder, "holds" | "carry"> | undefined
  readonly flights: Pick<FlightViews, "inFlightAmong" | "areHere">
  readonly wall: WallClock["Service"]
  readonly ids: Ids["Service"]
  readonly metrics: EngineMetrics
  /** The process is stopping: nothing new is taken. */
  readonly isDraining: () => boolean
}

/** From the receipt of a write to its answer, whoever does it; a little more than the forwarder takes by itself. */
const ownAnswerWithinMs = 5_500
/** Counting stops here and says so. */
const countAtMost = 100_000
/** How many timers one `cancelMany` cancels at most. */
const cancelsAtOnce = 1_000

export const makeScheduler = (parts: SchedulerParts): Scheduler["Service"] => {
  const { store, own, forwarder, flights, wall, ids, metrics } = parts

  /** Hands the item to the owner of its shard, this node or another; answers once. */
  const write = <Answer extends WriteAnswer>(
    item: CarriedItem,
    onAnswer: (answer: Exclude<Answer, Unstorable> | RefusedWrite) => void,
  ): void => {
    const settle = (result: CarriedResult): void => {
      if ("_tag" in result) onAnswer(result)
      else if (result.result === "unstorable") onAnswer(unstorable(result))
      else if (result.result === "unknown") onAnswer(untold())
      // Each item is answered with an answer of its own kind.
      else onAnswer(result as Exclude<Answer, Unstorable>)
    }
    if (parts.isDraining()) {
      settle(notOwned())
      return
    }
    // Behind what is on its way already, so that the writes of a key keep their order.
    if (forwarder?.holds(keyOfItem(item).uuid) === true) {
      forwarder.carry(item, settle)
      return
    }
    own.put(item, (answer) => {
      if (answer.kind === "answered") settle(answer.answer)
      else if (answer.kind === "overloaded") settle(new Overloaded({ retryAfterMs: answer.retryAfterMs }))
      else if (forwarder !== undefined && !parts.isDraining()) {
        forwarder.carry(item, settle, { mayBeDone: answer.kind === "unknown" })
      } else settle(answer.kind === "notOwner" ? notOwned() : lost())
    })
  }

  /**
   * One write, begun and waited for. A store that does not answer this node may answer another: where there are
   * others, the caller is told in time to ask one of them. On a store of its own there is nobody else to ask.
   */
  const answerOf = <Answer extends WriteAnswer>(
    begin: (onAnswer: (answer: Answer | RefusedWrite) => void) => void,
  ): Effect.Effect<Answer, RefusedWrite> => {
    const answer = Effect.callback<Answer, RefusedWrite>((resume) =>
      begin((given) => resume(asEffect(given))),
    )
    if (forwarder === undefined) return answer
    return Effect.timeoutOrElse(answer, { duration: ownAnswerWithinMs, orElse: () => Effect.fail(late()) })
  }

  const timerFor = (command: Omit<CreateCommand, "onExisting">): Timer => {
    const now = wall.now()
    const timerId = command.timerId ?? ids.uuidV7(now)
    const { namespace, executeAt, spec, payload } = command
    const timer: Mutable<Timer> = {
      namespace,
      timerId,
      uuid: keyOf(namespace, timerId).uuid,
      fireId: ids.uuidV7(now),
      revision: now,
      executeAt,
      fireAt: executeAt,
      attempts: 0,
      createdAt: now,
      updatedAt: now,
      correlationId: command.correlationId ?? madeCorrelationId(ids.uuidV7(now)),
      spec,
    }
    if (payload !== undefined) timer.payload = payload
    copyAdded(command, timer)
    return timer
  }

  const create = (command: CreateCommand, onAnswer: (answer: PutAnswer | RefusedWrite) => void): void => {
    metrics.received("create")
    const put: Put = {
      kind: "put",
      onExisting: command.onExisting,
      madeCorrelationId: command.correlationId === undefined,
      timer: timerFor(command),
    }
    write<PutAnswer>(put, onAnswer)
  }

  const schedule = (
    command: ScheduleCommand,
    onAnswer: (answer: ScheduleAnswer | RefusedWrite) => void,
  ): void => {
    metrics.received("schedule")
    const timer = { ...timerFor(command), askedAt: command.askedAt }
    const madeCorrelationId = command.correlationId === undefined
    const item: Schedule = { kind: "schedule", timer, madeCorrelationId }
    write<ScheduleAnswer>(item, onAnswer)
  }

  const cancelOf = ({ namespace, timerId, uuid }: TimerKey, ifRevision: number | undefined): Cancel => {
    metrics.received("cancel")
    const at = wall.now()
    return {
      kind: "cancel",
      key: { namespace, timerId, uuid },
      cancelId: ids.uuidV7(at),
      at,
      ...(ifRevision === undefined ? {} : { ifRevision }),
    }
  }

  const view = (listed: Listed, inFlight: ReadonlySet<string>): TimerView =>
    listed.state === "pending" && inFlight.has(listed.timer.fireId)
      ? { state: "inFlight", timer: listed.timer }
      : listed

  /** The first timers that match, at most `cancelsAtOnce`, and whether there may be more. */
  const matching = Effect.fnUntraced(function* (namespace: string, filter: ListFilter) {
    const found: Array<Timer> = []
    let cursor: string | undefined
    do {
      const page: ListPage = yield* store
        .list({
          ...filter,
          namespace,
          state: "pending",
          reversed: false,
          includePayload: false,
          limit: cancelsAtOnce - found.length,
          ...(cursor === undefined ? {} : { cursor }),
        })
        // Cursors come from the store itself.
        .pipe(Effect.catchTag("InvalidCursor", (error) => Effect.die(error)))
      for (const item of page.items) if (item.state === "pending") found.push(item.timer)
      cursor = page.next
      // A page may be empty for its bound on rows looked at: go on until there is something to cancel.
    } while (cursor !== undefined && found.length === 0)
    return { found, more: cursor !== undefined }
  })

  return Scheduler.of({
    create: (command) => answerOf((onAnswer) => create(command, onAnswer)),
    createMany: (commands) => {
      // One for all that have no answer yet: an error takes longer to make than a create.
      const notYet = late()
      const answers = commands.map((): PutAnswer | RefusedWrite => notYet)
      const all = Effect.callback<typeof answers>((resume) => {
        let missing = commands.length
        if (missing === 0) resume(Effect.succeed(answers))
        commands.forEach((command, index) => {
          create(command, (answer) => {
            answers[index] = answer
            if (--missing === 0) resume(Effect.succeed(answers))
          })
        })
      })
      if (forwarder === undefined) return all
      return Effect.timeoutOrElse(all, {
        duration: ownAnswerWithinMs,
        // As they are now: those that come later come too late.
        orElse: () => Effect.sync(() => [...answers]),
      })
    },
    get: Effect.fnUntraced(function* (namespace, timerId) {
      const { pending, last } = yield* store.find(keyOf(namespace, timerId))
      const why = (pending ?? last)?.spec.unreadable
      if (why !== undefined) return yield* new TimerUnreadable({ reason: unreadableReason(why) })
      if (pending !== undefined) {
        return view({ state: "pending", timer: pending }, yield* flights.inFlightAmong([pending]))
      }
      return last === undefined ? undefined : { state: last.state, life: last }
    }),
    update: ({ namespace, timerId, ifRevision, set }) =>
      answerOf<ChangeAnswer>((onAnswer) => {
        metrics.received("update")
        const at = wall.now()
        const change: Change = {
          kind: "change",
          key: keyOf(namespace, timerId),
          fireId: ids.uuidV7(at),
          at,
          set,
          ...(ifRevision === undefined ? {} : { ifRevision }),
        }
        write<ChangeAnswer>(change, onAnswer)
      }),
    schedule: (command) => answerOf((onAnswer) => schedule(command, onAnswer)),
    cancel: (namespace, timerId, ifRevision) =>
      answerOf<CancelAnswer>((onAnswer) =>
        write<CancelAnswer>(cancelOf(keyOf(namespace, timerId), ifRevision), onAnswer),
      ),
    cancelMany: Effect.fnUntraced(function* (namespace, filter) {
      const { found, more } = yield* matching(namespace, filter)
      const answers = yield* Effect.forEach(
        found,
        (timer) =>
          answerOf<CancelAnswer>((onAnswer) =>
            // Only as it was found: what was changed since may no longer match.
            write<CancelAnswer>(cancelOf(timer, timer.revision), onAnswer),
          ),
        { concurrency: "unbounded" },
      )
      const count = (result: CancelAnswer["result"]) =>
        answers.filter((answer) => answer.result === result).length
      return { cancelled: count("cancelled"), inFlight: count("inFlight"), more }
    }),
    list: Effect.fnUntraced(function* (query) {
      const { items, next } = yield* store.list(query)
      const pending = items.flatMap((item) => (item.state === "pending" ? [item.timer] : []))
      const inFlight = yield* flights.inFlightAmong(pending)
      const timers = items.map((item) => view(item, inFlight))
      return { timers, ...(next === undefined ? {} : { next }) }
    }),
    count: (query) => store.count({ limit: countAtMost, ...query }),
    isInFlight: (timer) => Effect.map(flights.inFlightAmong([timer]), (running) => running.has(timer.fireId)),
    accept: (items) =>
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
      }),
    isInFlightHere: (fireIds) => flights.areHere(fireIds),
    ...makeDeadLetters({
      store,
      wall,
      ids,
      metrics,
      write: (item) => answerOf((onAnswer) => write(item, onAnswer)),
    }),
  })
}

const unstorable = ({ reason, isUnreadable }: Unstorable): TimerUnstorable | TimerUnreadable =>
  isUnreadable === true ? new TimerUnreadable({ reason }) : new TimerUnstorable({ reason })

const notOwned = (): OwnerUnavailable =>
  new OwnerUnavailable({ message: "this process does not own the timer's shard now", retryAfterMs })

const lost = (): OwnerUnavailable =>
  new OwnerUnavailable({
    message: "this process lost the timer's shard before the write was confirmed",
    retryAfterMs,
    mayBeDone: true,
  })

const untold = (): OwnerUnavailable =>
  new OwnerUnavailable({
    message: "the store failed meanwhile, and nothing tells any more whether it was done",
    retryAfterMs,
    mayBeDone: true,
  })

const late = (): OwnerUnavailable =>
  new OwnerUnavailable({
    message: "the store did not confirm the write in time",
    retryAfterMs,
    mayBeDone: true,
  })

const asEffect = <Answer extends WriteAnswer>(
  answer: Answer | RefusedWrite,
): Effect.Effect<Answer, RefusedWrite> => ("_tag" in answer ? Effect.fail(answer) : Effect.succeed(answer))
