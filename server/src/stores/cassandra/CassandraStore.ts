// Cassandra as a store that several nodes share. Commits.ts, looks.ts, Reader.ts, scans.ts, Pruning.ts and Leases.ts do
// the work of a call. serverStore.ts runs the calls. The driver repeats reads by itself.
import { cassandraDocuments } from "@punctual/documents/cassandra/cassandraDocuments"
import { Effect, Layer } from "effect"
import { opening, type ServerOpening } from "../openingStores.ts"
import { lanesOver, type ServerWork, serverStore } from "../serverStore.ts"
import { Commits } from "./Commits.ts"
import type { CassandraTarget } from "./cassandraUrl.ts"
import { Fences } from "./Fences.ts"
import { describeCassandraError, explainedCassandra, isFatal } from "./failures.ts"
import { Keys } from "./Keys.ts"
import { cassandraLeases } from "./Leases.ts"
import { LeaseWrites } from "./LeaseWrites.ts"
import { lookAt } from "./looks.ts"
import { openDatabase } from "./openDatabase.ts"
import { Pruning } from "./Pruning.ts"
import { readClock, readDue, readHeads, readNames, type StoreParts } from "./Reader.ts"
import { allShards, scanRows } from "./scans.ts"

/** One commit is one conditional batch on one partition. Commits of different shards run side by side. */
const limits = {
  batchItems: 100,
  batchBytes: 128 * 1024,
  itemBytes: 1 << 20,
  concurrentWrites: 16,
  shardsTogether: 1,
} as const

interface Connection extends StoreParts {
  readonly commits: Commits
  readonly pruning: Pruning
  readonly leaseWrites: LeaseWrites
}

export const CassandraStore = {
  layer: ({
    target,
    shards,
    historyRetentionMs,
    onFatal,
  }: ServerOpening & { readonly target: CassandraTarget }) =>
    Layer.effectContext(
      Effect.gen(function* () {
        const session = yield* Effect.acquireRelease(
          opening(
            () => openDatabase(target, shards),
            (error) => explainedCassandra(error, target),
          ),
          (open) => Effect.promise(() => open.close().catch(() => {})),
        )
        const parts = { session, fences: new Fences(session), keys: new Keys(session, shards) }
        // Zero would mean that rows never expire.
        const lifeSeconds =
          historyRetentionMs === undefined ? undefined : Math.max(1, Math.ceil(historyRetentionMs / 1_000))
        const pruning = new Pruning(parts, lifeSeconds)
        const commits = yield* Effect.acquireRelease(
          Effect.sync(() => new Commits(parts, lifeSeconds, (changes) => pruning.committed(changes))),
          (open) => Effect.promise(() => open.close()),
        )
        const connection = { ...parts, commits, pruning, leaseWrites: new LeaseWrites(session) }
        return yield* serverStore({
          lanes: lanesOver(connection),
          work,
          shards,
          limits,
          rules: { isFatal, isTransient: () => false, describe: describeCassandraError },
          onFatal,
        })
      }),
    ),
} as const

const work: ServerWork<Connection> = {
  storage: {
    open: ({ fences }, shard, epoch) => fences.opened(shard, epoch),
    look: ({ keys }, looks) => lookAt(keys, looks),
    commit: ({ commits }, sent) => Promise.all(sent.map((commit) => commits.commit(commit))),
    due: readDue,
    dueHeads: readHeads,
    scan: (parts, scans) => Promise.all(scans.map((scan) => scanRows(parts, scan))),
    namespaces: readNames,
    prune: ({ pruning }, beforeMs, limit) => pruning.prune(beforeMs, limit),
  },
  tallies: ({ fences, keys }) => fences.tallies(allShards(keys.shards)),
  leases: cassandraLeases,
  documents: ({ session }) => cassandraDocuments(session),
  clockMs: readClock,
}
