// The memory store implements the ports on a MemoryDatabase, under the same laws as every other store except
// durability. All its effects are synchronous, so that a simulation controls it through the scheduler.
import { changeOf } from "@punctual/documents/DocumentRow"
import { Documents } from "@punctual/documents/Documents"
import { documentsIn } from "@punctual/documents/memory/MemoryDocuments"
import { Context, Effect, Layer } from "effect"
import type { Timer, TimerHead } from "../../domain/Timer.ts"
import { duePageBytes } from "../../ports/duePageBytes.ts"
import { type Lease, ShardLeases } from "../../ports/ShardLeases.ts"
import { ShardStorage } from "../../ports/ShardStorage.ts"
import type { ArchivePage, TimerArchive } from "../../ports/TimerArchive.ts"
import { type DuePage, type DueQuery, StoreError, TimerStore } from "../../ports/TimerStore.ts"
import { decidingStore } from "../DecidingStore.ts"
import { textOfSpec } from "../SpecText.ts"
import { compareUtf8 } from "../Utf8Order.ts"
import { type MemoryDatabase, makeMemoryDatabase, type ShardState } from "./MemoryDatabase.ts"
import { scanIn } from "./scanning.ts"

const limits = {
  batchItems: 1_000,
  batchBytes: 4 << 20,
  itemBytes: 1 << 20,
  concurrentWrites: 16,
  shardsTogether: Number.MAX_SAFE_INTEGER,
} as const

export const MemoryStore = {
  /** A new, empty database that ends with the layer. */
  layer: (options: { readonly shards: number }): Layer.Layer<MemoryServices> =>
    Layer.syncContext(() => servicesOver(makeMemoryDatabase(options))),
  /** The store of one of several nodes in this process that share a database. */
  over: (database: MemoryDatabase): Layer.Layer<MemoryServices> =>
    Layer.syncContext(() => servicesOver(database)),
  /** Everything that the database contains now. */
  archive: (database: MemoryDatabase): TimerArchive => {
    const items = database.contents()
    const documents = database.documents.copy()
    return {
      shards: database.shards.length,
      documents: (kind, afterVersion, limit) =>
        Effect.sync(() => documents.changesAfter(kind, afterVersion, limit).map(changeOf)),
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

type MemoryServices = TimerStore | ShardStorage | ShardLeases | Documents

const servicesOver = (database: MemoryDatabase): Context.Context<MemoryServices> => {
  const storage = storageOver(database)
  return Context.make(TimerStore, decidingStore(storage)).pipe(
    Context.add(ShardStorage, storage),
    Context.add(ShardLeases, leasesOver(database)),
    Context.add(Documents, documentsIn(database.documents)),
  )
}

const storageOver = (database: MemoryDatabase): ShardStorage["Service"] => ({
  limits,
  open: () => Effect.void,
  look: (looks) => Effect.sync(() => looks.map((look) => database.look(look))),
  commit: (commits) => withShards(database, commits, () => commits.map((commit) => database.commit(commit))),
  insertNew: (shard, timers) =>
    withShards(database, [{ shard }], () =>
      database.insertNew(shard, timers).map((isStored) => (isStored ? "stored" : "missed")),
    ),
  due: (query) => Effect.sync(() => duePage(database, query)),
  dueHeads: (query) => Effect.sync(() => dueHeads(database, query)),
  scan: (scans) => Effect.sync(() => scans.map((scan) => scanIn(database, scan))),
  namespaces: (exclusiveAfter, limit) =>
    Effect.sync(() =>
      database
        .namespaceNames()
        .filter((name) => compareUtf8(name, exclusiveAfter) > 0 && !name.startsWith("_"))
        .slice(0, limit),
    ),
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
      state.lastCommit = 0
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
  retireSilent: (seen) => Effect.sync(() => database.members.retireSilent(seen)),
})

const leaseOf = ({ epoch, counter, foreign, node }: ShardState, shard: number): Lease => ({
  shard,
  epoch,
  counter,
  foreign,
  ...(node === undefined ? {} : { node }),
})

const duePage = (database: MemoryDatabase, query: DueQuery): DuePage => {
  const timers: Array<Timer> = []
  let bytes = 0
  for (const timer of database.due(query)) {
    if (timers.length === query.limit || bytes >= duePageBytes) return { timers, isLast: false }
    timers.push(timer)
    bytes += textOfSpec(timer.spec).length + (timer.payload?.byteLength ?? 0)
  }
  return { timers, isLast: true }
}

const dueHeads = (database: MemoryDatabase, query: DueQuery): ReadonlyArray<TimerHead> => {
  const heads: Array<TimerHead> = []
  for (const { namespace, timerId, uuid, fireId, fireAt } of database.due(query)) {
    if (heads.length === query.limit) break
    heads.push({ namespace, timerId, uuid, fireId, fireAt })
  }
  return heads
}

/** A request for a shard that does not exist is an error of the program, not of a caller. */
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
