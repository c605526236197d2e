// Cassandra as a store: tables in a keyspace that several nodes share. Its client is not part of the runtime;
// drivers/cassandra contains it.
import { serverAdapter } from "../serverAdapter.ts"
import {
  type CassandraTarget,
  cassandraForm,
  cassandraSchemes,
  cassandraUrlShown,
  parseCassandraUrl,
} from "./cassandraUrl.ts"

export const cassandra = serverAdapter<CassandraTarget>({
  name: "cassandra",
  schemes: cassandraSchemes,
  forms: { [cassandraForm]: "a Cassandra cluster, which nodes can share" },
  driver: "cassandra",
  // A commit changes one partition, and partitions must stay small.
  shards: { byDefault: 256, fewest: 64 },
  parse: parseCassandraUrl,
  shown: cassandraUrlShown,
  open: async (target, opening) =>
    (await import("./CassandraStore.ts")).CassandraStore.layer({ ...opening, target }),
  keep: async (target) => (await import("./cassandraKeeper.ts")).cassandraKeeper(target),
  tools: () => ({
    product: "Cassandra",
    backup: "Cassandra's own tools: nodetool snapshot on every node, with the service stopped",
    restore: "Cassandra's own tools from a snapshot of all nodes",
  }),
})
