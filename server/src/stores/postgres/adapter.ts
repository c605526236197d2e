// PostgreSQL as a store: a schema in a database that several nodes share. What a database server does better by its own
// means is refused, and the means are named.
import { Effect, Layer } from "effect"
import type { StoreAdapter, StoreChoice, StoreLayer, StoreOpening } from "../../ports/StoreAdapter.ts"
import { parsePostgresUrl, postgresForm, postgresSchemes, postgresUrlShown } from "./postgresUrl.ts"

export const postgres: StoreAdapter = {
  name: "postgres",
  schemes: postgresSchemes,
  forms: { [postgresForm]: "a PostgreSQL database, which nodes can share" },
  isShared: true,
  parse: (given) => {
    const parsed = parsePostgresUrl(given)
    return "problem" in parsed ? parsed : { value: choiceOf(parsed.value) }
  },
  shown: postgresUrlShown,
}

const choiceOf = (url: string): StoreChoice => ({
  adapter: postgres,
  shown: postgresUrlShown(url),
  place: postgresUrlShown(url),
  open: (opening) => layerOf(url, opening),
  offline: { can: (opening) => layerOf(url, opening) },
  archive: {
    can: () =>
      Effect.flatMap(
        Effect.promise(() => import("./PostgresArchive.ts")),
        ({ PostgresArchive }) => PostgresArchive.open(url),
      ),
  },
  doctor: {
    can: () => Effect.flatMap(keeper, ({ PostgresKeeper }) => PostgresKeeper.examination(url, Date.now)),
  },
  migrate: {
    can: ({ shards }) => Effect.flatMap(keeper, ({ PostgresKeeper }) => PostgresKeeper.schema(url, shards)),
  },
  backup: {
    instead:
      "a store on PostgreSQL is backed up by PostgreSQL's own means: pg_dump --schema=punctual, or a backup of the " +
      "server. To carry timers elsewhere: punctual export.",
  },
  restore: {
    instead:
      "a store on PostgreSQL is restored by PostgreSQL's own means, such as pg_restore, with every service stopped. " +
      "Then say what becomes of the timers that are overdue: punctual restore --force --due-before now fire|dead|discard.",
  },
  sealingKey: {
    instead:
      "Nodes share this store and all need the same key, so no node makes one by itself. Set TIMER_SECRET_KEY to the same key on all nodes; make one by: openssl rand -hex 32",
  },
})

const fewConnections = 4

const layerOf = (url: string, { shards, connections, onFatal }: StoreOpening): StoreLayer =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./PostgresStore.ts")),
      ({ PostgresStore }) =>
        PostgresStore.layer({
          url,
          shards,
          ...(connections === "few" ? { connections: fewConnections } : {}),
          ...(onFatal === undefined ? {} : { onFatal }),
        }),
    ),
  )

const keeper = Effect.promise(() => import("./PostgresKeeper.ts"))
