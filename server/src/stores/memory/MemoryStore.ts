// The memory store: the ports over a MemoryDatabase, under the same laws as every other store but
// durability. All its effects are synchronous, so that a simulation that owns the scheduler owns the
// store as well.
import { Context, Effect, Layer } from "effect"
import { whyTooLarge } from "../../domain/decideRestore.ts"
import type { Timer } from "../../domain/Timer.ts"
import {
  type InsertAnswer,
  itemBytes,
  type Put,
  type Unstorable,
  type WriteItem,
} from "../../domain/WriteItem.ts"
import { NamespaceStore } from "../../ports/NamespaceStore.ts"
import { type Lease, ShardLeases } from "../../ports/ShardLeases.ts"
import { type ArchivePage, type TimerArchive, TimerRestore } from "../../ports/TimerArchive.ts"
import {
  type BatchAnswer,
  type DueQuery,
  type InvalidCursor,
  type ShardBatch,
  StoreError,
  TimerStore,
} from "../../ports/TimerStore.ts"
import { decodeCursor } from "../ListCursor.ts"
import { compareUtf8 } from "../Utf8Order.ts"
import { countIn, listFrom } from "./listing.ts"
import { type MemoryDatabase, makeMemoryDatabase, type ShardState } from "./MemoryDatabase.ts"

const limits = { batchItems: 1_000, batchBytes: 4 << 20, itemBytes: 1 << 20, concurrentWrites: 16 } as const

export const MemoryStore = {
  /** A database of its own, empty, gone with the layer. */
  layer: (options: { readonly shards: number }): Layer.Layer<MemoryServices> =>
    Layer.syncContext(() => servicesOver(makeMemoryDatabase(options))),
  /** Over a database that others use too: one node of several in this process. */
  over: (database: MemoryDatabase): Layer.Layer<MemoryServices> =>
    Layer.syncContext(() => servicesOver(database)),
  /** All that the database holds now. */
  archive: (database: MemoryDatabase): TimerArchive => {
    const items = database.contents()
    const settings = database.settings.changesAfter(0, Number.MAX_SAFE_INTEGER)
    return {
      shards: database.shards.length,
      settings: (afterVersion, limit) =>
        Effect.sync(() => settings.filter(({ version }) => version > afterVersion).slice(0, limit)),
      page: (after, limit) =>
        Effect.sync((): ArchivePage => {
          const from = Number(after?.key[0] ?? 0)
          const page = items.slice(from, from + limit)
          const end = from + page.length
          return end < items.length ? { items: page, next: { part: "pending", key: [end] } } : { items: page }
        }),
    }
  },
} as const

type MemoryServices = TimerStore | ShardLeases | NamespaceStore | TimerRestore

const servicesOver = (database: MemoryDatabase): Context.Context<MemoryServices> =>
  Context.make(TimerStore, timerStoreOver(database)).pipe(
    Context.add(ShardLeases, leasesOver(database)),
    Context.add(NamespaceStore, namespacesOver(database)),
    Context.add(TimerRestore, restoreOver(database)),
  )

const namespacesOver = (database: MemoryDatabase): NamespaceStore["Service"] => ({
  put: (record) => Effect.sync(() => database.settings.put(record)),
  get: (namespace) => Effect.sync(() => database.settings.get(namespace)),
  changesAfter: (version, limit) => Effect.sync(() => database.settings.changesAfter(version, limit)),
  names: (exclusiveAfter, limit) =>
    Effect.sync(() =>
      database
        .namespaceNames()
        .filter((name) => compareUtf8(name, exclusiveAfter) > 0 && !name.startsWith("_"))
        .slice(0, limit),
    ),
})

const restoreOver = (database: MemoryDatabase): TimerRestore["Service"] => ({
  restore: (batches) =>
    withShards(database, batches, () =>
      batches.map(({ shard, epoch, items }) =>
        database.shards[shard]?.epoch === epoch
          ? {
              result: "restored",
              results: items.map(
                (item) => whyTooLarge(item, limits.itemBytes) ?? database.restore(shard, item),
              ),
            }
          : { result: "ownershipLost" },
      ),
    ),
})

const timerStoreOver = (database: MemoryDatabase): TimerStore["Service"] => ({
  limits,
  write: (batches) =>
    withShards(database, batches, () => batches.map((batch) => writeBatch(database, batch))),
  due: (query) => Effect.sync(() => page(database, query)),
  dueHeads: (query) =>
    Effect.sync(() =>
      page(database, query).map(({ namespace, timerId, uuid, fireId, fireAt }) => ({
        namespace,
        timerId,
        uuid,
        fireId,
        fireAt,
      })),
    ),
  insertIfAbsent: (shard, puts) =>
    withShards(database, [{ shard }], () => insertIfAbsent(database, shard, puts)),
  find: (key) => Effect.sync(() => database.known(key)),
  list: (query) =>
    Effect.try({
      try: () => listFrom(database.index(query.namespace), query, decodeCursor(query)),
      catch: (error) => error as InvalidCursor,
    }),
  count: (query) => Effect.sync(() => countIn(database.index(query.namespace), query)),
  prune: (exclusiveBeforeMs, limit) => Effect.sync(() => database.prune(exclusiveBeforeMs, limit)),
  tally: Effect.sync(() => database.tally),
})

const leasesOver = (database: MemoryDatabase): ShardLeases["Service"] => ({
  owners: Effect.sync(() => database.shards.map(leaseOf)),
  claim: (expected, node) =>
    Effect.sync(() => {
      const state = database.shards[expected.shard]
      if (state?.epoch !== expected.epoch || state.counter !== expected.counter) return undefined
      state.epoch++
      state.lastWrite = 0
      state.counter++
      state.node = node
      return leaseOf(state, expected.shard)
    }),
  renew: (held) =>
    Effect.sync(() =>
      held.map(({ shard, epoch }) => {
        const state = database.shards[shard]
        if (state?.epoch !== epoch || state.node === undefined) return undefined
        state.counter++
        return { foreign: state.foreign }
      }),
    ),
  release: (shard, epoch) =>
    Effect.sync(() => {
      const state = database.shards[shard]
      if (state?.epoch === epoch) state.node = undefined
    }),
  announce: (member) => Effect.sync(() => database.members.announce(member)),
  members: Effect.sync(() => database.members.all()),
  retire: (node) => Effect.sync(() => database.members.retire(node)),
})

const leaseOf = ({ epoch, counter, foreign, node }: ShardState, shard: number): Lease => ({
  shard,
  epoch,
  counter,
  foreign,
  ...(node === undefined ? {} : { node }),
})

const writeBatch = (database: MemoryDatabase, { shard, epoch, number, items }: ShardBatch): BatchAnswer => {
  const state = database.shards[shard]
  if (state?.epoch !== epoch) return { result: "ownershipLost" }
  if (number <= state.lastWrite) return { result: "overtaken" }
  state.lastWrite = number
  const answers = items.map((item) => whyUnstorable(item) ?? database.apply(shard, item))
  return { result: "written", answers }
}

const whyUnstorable = (item: WriteItem): Unstorable | undefined => {
  const bytes = itemBytes(item)
  if (bytes <= limits.itemBytes) return undefined
  const reason = `The item has ${bytes} bytes; this store holds at most ${limits.itemBytes}.`
  return { result: "unstorable", reason }
}

const insertIfAbsent = (
  database: MemoryDatabase,
  shard: number,
  puts: ReadonlyArray<Put>,
): ReadonlyArray<InsertAnswer> => {
  const createdBefore = database.tally.created
  const answers = puts.map((put) => whyUnstorable(put) ?? database.insert(shard, put))
  const state = database.shards[shard]
  if (state !== undefined && database.tally.created > createdBefore) state.foreign++
  return answers
}

const page = (database: MemoryDatabase, query: DueQuery): ReadonlyArray<Timer> => {
  const timers: Array<Timer> = []
  for (const timer of database.due(query)) {
    if (timers.length === query.limit) break
    timers.push(timer)
  }
  return timers
}

/** Asking for a shard that does not exist is a mistake of the program, not of a caller. */
const withShards = <A>(
  database: MemoryDatabase,
  named: ReadonlyArray<{ readonly shard: number }>,
  run: () => A,
): Effect.Effect<A, StoreError> =>
  Effect.suspend(() => {
    const unknown = named.find(({ shard }) => database.shards[shard] === undefined)
    return unknown === undefined
      ? Effect.sync(run)
      : new StoreError({ message: `The store has no shard ${unknown.shard}.`, isFatal: false })
  })
