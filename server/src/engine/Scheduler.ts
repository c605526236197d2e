// The front of the engine: what HTTP, the bus and in-process callers ask of it. It turns a request into
// an item of the owning shard's write queue and answers when that is on stable storage.
import { Context, Effect, Schema } from "effect"
import type { FinishedLife, FinishedState, Spec, Timer, TimerKey } from "../domain/Timer.ts"
import { keyOf, shardOf } from "../domain/TimerKey.ts"
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
} from "../domain/WriteItem.ts"
import type { Ids } from "../ports/Ids.ts"
import type {
  InvalidCursor,
  Listed,
  ListFilter,
  ListPage,
  ListQuery,
  StoreError,
  TimerStore,
} from "../ports/TimerStore.ts"
import type { WallClock } from "../ports/WallClock.ts"
import type { EngineMetrics } from "./EngineMetrics.ts"
import type { Ownership } from "./Ownership.ts"
import type { ShardLoop } from "./ShardLoop.ts"
import type { WriteQueue } from "./WriteQueue.ts"

/** The queue is full: nothing was written, ask again after the pause. */
export class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {
  retryAfterMs: Schema.Number,
}) {}

/** This process does not own the key's shard (it waits, drains, or lost it): ask again after the pause. */
export class OwnerUnavailable extends Schema.TaggedError<OwnerUnavailable>()("OwnerUnavailable", {
  message: Schema.String,
  retryAfterMs: Schema.Number,
}) {}

/** The store cannot hold this timer, and never will. */
export class TimerUnstorable extends Schema.TaggedError<TimerUnstorable>()("TimerUnstorable", {
  reason: Schema.String,
}) {}

export type RefusedWrite = Overloaded | OwnerUnavailable | TimerUnstorable

export interface CreateCommand {
  readonly namespace: string
  /** Made (UUID v7) when absent. */
  readonly timerId?: string
  readonly executeAt: number
  readonly spec: Spec
  readonly payload?: Uint8Array
  /** Made (UUID v7) when absent. */
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
  /** Made (UUID v7) when absent. */
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
  {
    create(command: CreateCommand): Effect.Effect<PutAnswer, RefusedWrite>
    /** In order; each gets its own answer or refusal. */
    createMany(commands: ReadonlyArray<CreateCommand>): Effect.Effect<ReadonlyArray<PutAnswer | RefusedWrite>>
    get(namespace: string, timerId: string): Effect.Effect<TimerView | undefined, StoreError>
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
    count(
      query: ListFilter & Pick<ListQuery, "namespace" | "state">,
    ): Effect.Effect<{ readonly count: number; readonly capped: boolean }, StoreError>
    /** Whether an attempt is running for the arming a write answered with. */
    isInFlight(timer: Timer): boolean
  }
>()("punctual/engine/Scheduler") {}

export interface SchedulerParts {
  readonly store: TimerStore["Service"]
  readonly ownership: Ownership
  readonly queue: WriteQueue
  readonly wall: WallClock["Service"]
  readonly ids: Ids["Service"]
  readonly metrics: EngineMetrics
  /** The process is stopping: nothing new is taken. */
  readonly isDraining: () => boolean
}

const retryAfterMs = 1_000
/** Writes of one key go one a commit: more of them at once would only wait. */
const queuedPerKey = 100
/** Counting stops here and says so. */
const countAtMost = 100_000
/** How many timers one `cancelMany` cancels at most. */
const cancelsAtOnce = 1_000

export const makeScheduler = (parts: SchedulerParts): Scheduler["Service"] => {
  const { store, ownership, queue, wall, ids, metrics } = parts

  /** The loop that may take a write of this key now, or why none may. */
  const ownerOf = (key: TimerKey): ShardLoop | OwnerUnavailable | Overloaded => {
    const loop = loopOf(key)
    if (loop === undefined || parts.isDraining()) return notOwned()
    const isTooMuch = queue.isFull || loop.window.writesQueuedOf(key.uuid) >= queuedPerKey
    return isTooMuch ? new Overloaded({ retryAfterMs }) : loop
  }

  const loopOf = ({ uuid }: TimerKey): ShardLoop | undefined =>
    ownership.shards === undefined ? undefined : ownership.loopOf(shardOf(uuid, ownership.shards))

  /** Queues what `itemFor` makes of the running attempt's fireId, if there is one; answers once. */
  const write = <Item extends CallersItem, Answer extends WriteAnswer>(
    key: TimerKey,
    itemFor: (inFlight: string | undefined) => Item,
    onAnswer: (answer: Exclude<Answer, Unstorable> | RefusedWrite) => void,
  ): void => {
    const loop = ownerOf(key)
    if ("_tag" in loop) {
      onAnswer(loop)
      return
    }
    const running = loop.window.entryOf(key.uuid)
    const item = itemFor(running?.state === "inFlight" ? running.timer.fireId : undefined)
    loop.window.expectAnswer(item, key.uuid, mayMove(item, running?.timer))
    const isQueued = queue.push(loop, {
      item,
      onAnswer: (answer) => {
        if (answer === undefined) onAnswer(notOwned())
        else if (answer.result === "unstorable") onAnswer(new TimerUnstorable({ reason: answer.reason }))
        // The queue answers each item with the answer of its own kind.
        else onAnswer(answer as Exclude<Answer, Unstorable>)
      },
    })
    if (!isQueued) onAnswer(notOwned())
  }

  const timerFor = (command: Omit<CreateCommand, "onExisting">): Timer => {
    const now = wall.now()
    const timerId = command.timerId ?? ids.uuidV7(now)
    const { executeAt } = command
    return {
      ...keyOf(command.namespace, timerId),
      fireId: ids.uuidV7(now),
      revision: now,
      executeAt,
      fireAt: executeAt,
      attempts: 0,
      createdAt: now,
      updatedAt: now,
      correlationId: command.correlationId ?? ids.uuidV7(now),
      spec: command.spec,
      ...(command.payload === undefined ? {} : { payload: command.payload }),
    }
  }

  const create = (command: CreateCommand, onAnswer: (answer: PutAnswer | RefusedWrite) => void): void => {
    metrics.received("create")
    const put: Put = {
      kind: "put",
      onExisting: command.onExisting,
      madeCorrelationId: command.correlationId === undefined,
      timer: timerFor(command),
    }
    write<Put, PutAnswer>(put.timer, () => put, onAnswer)
  }

  const schedule = (
    command: ScheduleCommand,
    onAnswer: (answer: ScheduleAnswer | RefusedWrite) => void,
  ): void => {
    metrics.received("schedule")
    const timer = { ...timerFor(command), askedAt: command.askedAt }
    const itemFor = (inFlight: string | undefined): Schedule => ({
      kind: "schedule",
      timer,
      madeCorrelationId: command.correlationId === undefined,
      ...(inFlight === undefined ? {} : { inFlight }),
    })
    write<Schedule, ScheduleAnswer>(timer, itemFor, onAnswer)
  }

  const cancelFor =
    (key: TimerKey, ifRevision: number | undefined) =>
    (inFlight: string | undefined): Cancel => {
      const at = wall.now()
      return {
        kind: "cancel",
        key,
        cancelId: ids.uuidV7(at),
        at,
        ...(ifRevision === undefined ? {} : { ifRevision }),
        ...(inFlight === undefined ? {} : { inFlight }),
      }
    }

  const isInFlight = (timer: Timer): boolean => {
    const entry = loopOf(timer)?.window.entryOf(timer.uuid)
    return entry?.state === "inFlight" && entry.timer.fireId === timer.fireId
  }

  const view = (listed: Listed): TimerView =>
    listed.state === "pending" && isInFlight(listed.timer)
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
    create: (command) => Effect.callback((resume) => create(command, (answer) => resume(asEffect(answer)))),
    createMany: (commands) =>
      Effect.callback((resume) => {
        const answers = new Array<PutAnswer | RefusedWrite>(commands.length)
        let missing = commands.length
        if (missing === 0) resume(Effect.succeed(answers))
        for (const [index, command] of commands.entries()) {
          create(command, (answer) => {
            answers[index] = answer
            if (--missing === 0) resume(Effect.succeed(answers))
          })
        }
      }),
    get: Effect.fnUntraced(function* (namespace, timerId) {
      const { pending, last } = yield* store.find(keyOf(namespace, timerId))
      if (pending !== undefined) return view({ state: "pending", timer: pending })
      return last === undefined ? undefined : { state: last.state, life: last }
    }),
    update: ({ namespace, timerId, ifRevision, set }) =>
      Effect.callback((resume) => {
        metrics.received("update")
        const key = keyOf(namespace, timerId)
        const at = wall.now()
        write<Change, ChangeAnswer>(
          key,
          (inFlight) => ({
            kind: "change",
            key,
            fireId: ids.uuidV7(at),
            at,
            set,
            ...(ifRevision === undefined ? {} : { ifRevision }),
            ...(inFlight === undefined ? {} : { inFlight }),
          }),
          (answer) => resume(asEffect(answer)),
        )
      }),
    schedule: (command) =>
      Effect.callback((resume) => schedule(command, (answer) => resume(asEffect(answer)))),
    cancel: (namespace, timerId, ifRevision) =>
      Effect.callback((resume) => {
        metrics.received("cancel")
        const key = keyOf(namespace, timerId)
        write<Cancel, CancelAnswer>(key, cancelFor(key, ifRevision), (answer) => resume(asEffect(answer)))
      }),
    cancelMany: Effect.fnUntraced(function* (namespace, filter) {
      const { found, more } = yield* matching(namespace, filter)
      const answers = yield* Effect.forEach(
        found,
        ({ namespace, timerId, uuid, revision }) =>
          Effect.callback<CancelAnswer, RefusedWrite>((resume) => {
            metrics.received("cancel")
            const key = { namespace, timerId, uuid }
            // Only as it was found: what was changed since may no longer match.
            write<Cancel, CancelAnswer>(key, cancelFor(key, revision), (answer) => resume(asEffect(answer)))
          }),
        { concurrency: "unbounded" },
      )
      const count = (result: CancelAnswer["result"]) =>
        answers.filter((answer) => answer.result === result).length
      return { cancelled: count("cancelled"), inFlight: count("inFlight"), more }
    }),
    list: Effect.fnUntraced(function* (query) {
      const { items, next } = yield* store.list(query)
      return { timers: items.map(view), ...(next === undefined ? {} : { next }) }
    }),
    count: (query) => store.count({ ...query, limit: countAtMost }),
    isInFlight,
  })
}

type CallersItem = Put | Change | Schedule | Cancel

/**
 * Whether a due timer must wait for the write's answer. A create again of what is there changes nothing. A
 * schedule always may: one queued before it may have moved what is known here, and what has begun to fire by
 * the time it is decided must not be moved.
 */
const mayMove = (item: CallersItem, known: Timer | undefined): boolean =>
  item.kind !== "put" || (item.onExisting === "replace" && item.timer.executeAt !== known?.executeAt)

const notOwned = (): OwnerUnavailable =>
  new OwnerUnavailable({ message: "this process does not own the timer's shard now", retryAfterMs })

const asEffect = <Answer extends WriteAnswer>(
  answer: Answer | RefusedWrite,
): Effect.Effect<Answer, RefusedWrite> => ("_tag" in answer ? Effect.fail(answer) : Effect.succeed(answer))
