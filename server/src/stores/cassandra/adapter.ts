// Cassandra as a store: tables in a keyspace that several nodes share. Its client is not part of the runtime;
// drivers/cassandra contains it.
import { Effect, Layer } from "effect"
import type { StoreAdapter, StoreChoice, StoreLayer, StoreOpening } from "../../ports/StoreAdapter.ts"
import {
  type CassandraTarget,
  cassandraForm,
  cassandraSchemes,
  cassandraUrlShown,
  parseCassandraUrl,
} from "./cassandraUrl.ts"

export const cassandra: StoreAdapter = {
  name: "cassandra",
  schemes: cassandraSchemes,
  forms: { [cassandraForm]: "a Cassandra cluster, which nodes can share" },
  driver: "cassandra",
  isShared: true,
  // A commit changes one partition, and partitions must stay small.
  shards: { byDefault: 256, fewest: 64 },
  parse: (url) => {
    const parsed = parseCassandraUrl(url)
    return "problem" in parsed ? parsed : { value: choiceOf(parsed.value) }
  },
  shown: cassandraUrlShown,
}

const choiceOf = (target: CassandraTarget): StoreChoice => ({
  adapter: cassandra,
  shown: target.shown,
  place: target.shown,
  open: (opening) => layerOf(target, opening),
  offline: { can: (opening) => layerOf(target, opening) },
  archive: { can: () => Effect.flatMap(keeper, ({ CassandraKeeper }) => CassandraKeeper.archive(target)) },
  documents: {
    can: () => Effect.flatMap(keeper, ({ CassandraKeeper }) => CassandraKeeper.documents(target)),
  },
  doctor: {
    can: () => Effect.flatMap(keeper, ({ CassandraKeeper }) => CassandraKeeper.examination(target, Date.now)),
  },
  migrate: {
    can: ({ shards }) =>
      Effect.flatMap(keeper, ({ CassandraKeeper }) => CassandraKeeper.schema(target, shards)),
  },
  backup: {
    instead:
      "a store on Cassandra is backed up with Cassandra's own tools: nodetool snapshot on every node, with the service " +
      "stopped. To copy timers to another store, use punctual export.",
  },
  restore: {
    instead:
      "a store on Cassandra is restored with Cassandra's own tools from a snapshot of all nodes, with every service stopped. " +
      "Then decide what to do with the overdue timers: punctual restore --force --due-before now fire|dead|discard.",
  },
  sealingKey: {
    instead:
      "Nodes share this store and all need the same key, so no node creates one by itself. Set TIMER_SECRET_KEY to the same key on all nodes; create one with: openssl rand -hex 32",
  },
})

const layerOf = (
  target: CassandraTarget,
  { shards, historyRetentionMs, onFatal }: StoreOpening,
): StoreLayer =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./CassandraStore.ts")),
      ({ CassandraStore }) =>
        CassandraStore.layer({
          target,
          shards,
          ...(historyRetentionMs === undefined ? {} : { historyRetentionMs }),
          ...(onFatal === undefined ? {} : { onFatal }),
        }),
    ),
  )

const keeper = Effect.promise(() => import("./CassandraKeeper.ts"))
