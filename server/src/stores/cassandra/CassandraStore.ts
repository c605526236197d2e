// Cassandra as a store that several nodes share. This file bounds and classifies the calls. Commits.ts, looks.ts,
// Reader.ts, scans.ts, Pruning.ts and Leases.ts do the work.
import {
  listDocuments,
  readChanges,
  readDocument,
  writeDocument,
} from "@punctual/documents/cassandra/cassandraDocuments"
import { Documents } from "@punctual/documents/Documents"
import { Context, Effect, Layer, Schema } from "effect"
import { ShardLeases } from "../../ports/ShardLeases.ts"
import { ShardStorage } from "../../ports/ShardStorage.ts"
import { StoreClock } from "../../ports/StoreClock.ts"
import { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import { decidingStore } from "../DecidingStore.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import { Commits } from "./Commits.ts"
import type { CassandraTarget } from "./cassandraUrl.ts"
import { Fences } from "./Fences.ts"
import { describeCassandraError, isFatal } from "./failures.ts"
import { Keys } from "./Keys.ts"
import { Leases } from "./Leases.ts"
import { lookAt } from "./looks.ts"
import { openDatabase } from "./openDatabase.ts"
import { Pruning } from "./Pruning.ts"
import { readDue, readHeads, readNames, readTally, type StoreParts } from "./Reader.ts"
import { numberIn } from "./rows.ts"
import type { BatchSession } from "./Session.ts"
import { scanRows } from "./scans.ts"

export interface CassandraStoreOptions {
  readonly target: CassandraTarget
  /** Fixed when the store is created. */
  readonly shards: number
  /** How long history is kept. Without it, only `prune` removes history. */
  readonly historyRetentionMs?: number
  /** Called once when the store can no longer be trusted. The process should end. */
  readonly onFatal?: (message: string) => void
}

/** Why the store could not be opened, in a sentence that says what to do. */
export class CassandraOpenError extends Schema.TaggedError<CassandraOpenError>()("CassandraOpenError", {
  message: Schema.String,
}) {}

/** One commit is one conditional batch on one partition. Commits of different shards run side by side. */
const limits = {
  batchItems: 100,
  batchBytes: 128 * 1024,
  itemBytes: 1 << 20,
  concurrentWrites: 16,
  shardsTogether: 1,
} as const

export const CassandraStore = {
  layer: (
    options: CassandraStoreOptions,
  ): Layer.Layer<TimerStore | ShardStorage | ShardLeases | Documents | StoreClock, CassandraOpenError> =>
    Layer.effectContext(
      Effect.gen(function* () {
        const { session } = yield* Effect.acquireRelease(opening(options), ({ session: open }) =>
          Effect.promise(() => open.close().catch(() => {})),
        )
        const calls = new Calls(options.onFatal ?? (() => {}))
        const fences = new Fences(session)
        const parts = { session, fences, keys: new Keys(session, options.shards) }
        const storage = yield* storageOver(parts, calls, options)
        return Context.make(TimerStore, decidingStore(storage)).pipe(
          Context.add(ShardStorage, storage),
          Context.add(ShardLeases, leasesOver(new Leases(session, fences), calls)),
          Context.add(
            Documents,
            cassandraDocuments(session, (call) => calls.run(call)),
          ),
          Context.add(StoreClock, { offsetMs: (nowMs) => calls.run(() => clockOffset(session, nowMs)) }),
        )
      }),
    ),
} as const

const opening = ({ target, shards }: CassandraStoreOptions) =>
  Effect.tryPromise({
    try: () => openDatabase(target, shards),
    catch: (error) => new CassandraOpenError({ message: describeCassandraError(error) }),
  })

/** After a fatal failure nothing may be acknowledged, so no more calls are made. */
class Calls {
  readonly #onFatal: (message: string) => void
  #fate: string | undefined

  constructor(onFatal: (message: string) => void) {
    this.#onFatal = onFatal
  }

  run<A>(call: () => Promise<A>): Effect.Effect<A, StoreError> {
    return Effect.tryPromise({
      try: () => {
        if (this.#fate !== undefined) throw new Error(this.#fate)
        return call()
      },
      catch: (error) => {
        const message = describeCassandraError(error)
        if (this.#fate === undefined && isFatal(error)) {
          this.#fate = message
          this.#onFatal(message)
        }
        return new StoreError({ message, isFatal: this.#fate !== undefined })
      },
    })
  }
}

const storageOver = (parts: StoreParts, calls: Calls, { historyRetentionMs }: CassandraStoreOptions) =>
  Effect.gen(function* () {
    // Zero would mean that rows never expire.
    const lifeSeconds =
      historyRetentionMs === undefined ? undefined : Math.max(1, Math.ceil(historyRetentionMs / 1_000))
    const pruning = new Pruning(parts, lifeSeconds)
    const commits = yield* Effect.acquireRelease(
      Effect.sync(() => new Commits(parts, lifeSeconds, (changes) => pruning.committed(changes))),
      (open) => Effect.promise(() => open.close()),
    )
    const { keys, fences } = parts
    const storage: ShardStorage["Service"] = {
      limits,
      open: (shard, epoch) => calls.run(() => fences.opened(shard, epoch)),
      look: (looks) => calls.run(() => lookAt(keys, looks)),
      commit: (sent) => calls.run(() => Promise.all(sent.map((commit) => commits.commit(commit)))),
      due: (query) => calls.run(() => readDue(parts, query)),
      dueHeads: (query) => calls.run(() => readHeads(parts, query)),
      scan: (scans) => calls.run(() => Promise.all(scans.map((scan) => scanRows(parts, scan)))),
      namespaces: (after, limit) => calls.run(() => readNames(parts, after, limit)),
      prune: (beforeMs, limit) => calls.run(() => pruning.prune(beforeMs, limit)),
      tally: calls.run(() => readTally(parts)),
    }
    return storage
  })

const leasesOver = (leases: Leases, calls: Calls): ShardLeases["Service"] => {
  // Runs before this process first announces itself, so that no node must wait until the lease of a killed process
  // expires.
  let hasBuried = false
  const buryOnce = Effect.suspend(() =>
    hasBuried ? Effect.succeed([]) : calls.run(() => leases.buryTheDead()),
  ).pipe(
    Effect.tap((nodes) => {
      hasBuried = true
      return Effect.forEach(nodes, (node) =>
        Effect.logInfo(`${node} ran on this machine and has ended: its shards are free`),
      )
    }),
  )
  return {
    owners: calls.run(() => leases.owners()),
    claim: (expected, node) => calls.run(() => leases.claim(expected, node)),
    renew: (held) => calls.run(() => leases.renew(held)),
    release: (shard, epoch) => calls.run(() => leases.release(shard, epoch)),
    announce: (member) =>
      Effect.andThen(
        buryOnce,
        calls.run(() => leases.announce(member)),
      ),
    members: calls.run(() => leases.members()),
    retire: (node) => calls.run(() => leases.retire(node)),
    retireSilent: (seen) => calls.run(() => leases.retireSilent(seen)),
  }
}

export const cassandraDocuments = (
  session: BatchSession,
  run: <A>(call: () => Promise<A>) => Effect.Effect<A, StoreError>,
): Documents["Service"] =>
  storeDocuments({
    write: (asked) => run(() => writeDocument(session, asked)),
    get: (kind, id) => run(() => readDocument(session, kind, id)),
    list: (range) => run(() => listDocuments(session, range)),
    changesAfter: (kind, version, limit) => run(() => readChanges(session, kind, version, limit)),
  })

/** Assumes that the database read its clock halfway between the two times. */
export const clockOffset = async (session: BatchSession, nowMs: () => number): Promise<number> => {
  const sentMs = nowMs()
  const [row] = await session.rows("SELECT toUnixTimestamp(now()) AS now_ms FROM system.local")
  return Math.round((sentMs + nowMs()) / 2 - numberIn(row ?? {}, "now_ms"))
}
