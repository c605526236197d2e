// Implements TimerStore on any ShardStorage: it looks at keys, lets domain/decide.ts decide, and commits the changes.
// Rules, lists, counts and cursors exist here once, for every database. Deciding.ts contains the steps of a write, and
// ListWalk.ts those of a list. This file only runs them as effects.
import { Effect } from "effect"
import type { InsertAnswer, Put } from "../domain/WriteItem.ts"
import type { ShardStorage } from "../ports/ShardStorage.ts"
import {
  type BatchAnswer,
  type CountedBuckets,
  type CountQuery,
  type HistogramQuery,
  type InvalidCursor,
  type ListPage,
  type ListQuery,
  type ShardBatch,
  StoreError,
  type TimerStore,
} from "../ports/TimerStore.ts"
import { CountWalk } from "./CountWalk.ts"
import { Deciding, WriteGivenUp, WriteMemory } from "./Deciding.ts"
import { HistogramWalk } from "./HistogramWalk.ts"
import { Inserting } from "./Inserting.ts"
import { decodeCursor } from "./ListCursor.ts"
import type { WalkPlace } from "./ListLane.ts"
import { ListWalk } from "./ListWalk.ts"
import { listPage } from "./listPage.ts"

type Storage = ShardStorage["Service"]

export const decidingStore = (storage: Storage): TimerStore["Service"] => {
  const memory = new WriteMemory()
  return {
    limits: storage.limits,
    open: storage.open,
    write: (batches) => (batches.length === 0 ? Effect.succeed([]) : writing(storage, memory, batches)),
    insertIfAbsent: (shard, puts) => inserting(storage, shard, puts),
    due: storage.due,
    dueHeads: storage.dueHeads,
    find: (key, life) =>
      Effect.map(
        storage.look([{ key, ...(life === undefined ? {} : { lives: [life] }), withPayload: true }]),
        ([found]) => ({
          pending: found?.pending,
          last: found?.last,
          ...(life === undefined ? {} : { named: found?.lives?.[0] }),
        }),
      ),
    list: (query) => Effect.flatMap(cursorOf(query), (after) => listing(storage, query, after)),
    count: (query) => counting(storage, query),
    histogram: (query) => bucketing(storage, query),
    namespaces: storage.namespaces,
    prune: storage.prune,
    tally: storage.tally,
  }
}

const writing = Effect.fnUntraced(function* (
  storage: Storage,
  memory: WriteMemory,
  batches: ReadonlyArray<ShardBatch>,
) {
  const deciding = new Deciding(batches, memory, storage.limits)
  for (;;) {
    const step = deciding.step()
    if (step.kind === "done") return deciding.answers
    if (step.kind === "look") {
      const found = yield* storage.look(step.looks)
      yield* givingUp(() => deciding.looked(found))
    } else {
      const answers = yield* storage.commit(step.commits)
      yield* givingUp(() => deciding.committed(answers))
    }
  }
}) satisfies (...args: never) => Effect.Effect<ReadonlyArray<BatchAnswer>, StoreError>

const givingUp = <A>(step: () => A): Effect.Effect<A, StoreError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(step())
    } catch (error) {
      if (!(error instanceof WriteGivenUp)) throw error
      return new StoreError({ message: error.message, isFatal: false })
    }
  })

const inserting = Effect.fnUntraced(function* (storage: Storage, shard: number, puts: ReadonlyArray<Put>) {
  const inserting = new Inserting(puts, storage.limits.itemBytes)
  const { insertNew } = storage
  // Without this ability, the storage leaves every create to an owner.
  if (insertNew === undefined) return inserting.answers
  for (;;) {
    const step = yield* givingUp(() => inserting.step())
    if (step.kind === "done") return inserting.answers
    if (step.kind === "look") inserting.looked(yield* storage.look(step.looks))
    else inserting.inserted(yield* insertNew(shard, step.timers))
  }
}) satisfies (...args: never) => Effect.Effect<ReadonlyArray<InsertAnswer>, StoreError>

const cursorOf = (query: ListQuery): Effect.Effect<WalkPlace | undefined, InvalidCursor> =>
  Effect.try({ try: () => decodeCursor(query), catch: (error) => error as InvalidCursor })

/** A long walk lets others run after each slice of rows. */
const listing = Effect.fnUntraced(function* (
  storage: Storage,
  query: ListQuery,
  from: WalkPlace | undefined,
) {
  const walk = new ListWalk(query, from)
  for (let slices = 0; ; slices++) {
    const step = walk.step()
    if (step.kind === "done") return listPage(query, walk)
    if (slices > 0) yield* Effect.yieldNow
    if (step.kind === "look") walk.looked(yield* storage.look(step.looks))
    else walk.scanned(yield* storage.scan(step.scans), step.scans)
  }
}) satisfies (...args: never) => Effect.Effect<ListPage, StoreError>

const counting = Effect.fnUntraced(function* (storage: Storage, query: CountQuery) {
  const { count } = storage
  const walk = new CountWalk(query, count !== undefined)
  for (let slices = 0; ; slices++) {
    const step = walk.step()
    if (step.kind === "done") return walk.result
    if (slices > 0) yield* Effect.yieldNow
    if (step.kind === "count" && count !== undefined) walk.counted(yield* count(step.scans, step.limit))
    else walk.scanned(yield* storage.scan(step.scans), step.scans)
  }
})

const bucketing = Effect.fnUntraced(function* (storage: Storage, query: HistogramQuery) {
  const { countByTime } = storage
  const walk = new HistogramWalk(query, countByTime !== undefined)
  for (let slices = 0; ; slices++) {
    const step = walk.step()
    if (step.kind === "done") return walk.result
    if (slices > 0) yield* Effect.yieldNow
    if (step.kind === "count" && countByTime !== undefined)
      walk.counted(yield* countByTime(step.scans, step.buckets, step.limit))
    else walk.scanned(yield* storage.scan(step.scans), step.scans)
  }
}) satisfies (...args: never) => Effect.Effect<CountedBuckets, StoreError>
