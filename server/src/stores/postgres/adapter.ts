// PostgreSQL as a store: a schema in a database that several nodes share. Tasks that PostgreSQL's own tools do better
// are refused, and the error names the tools.

import { parsePostgresUrl, postgresForm, postgresSchemes, postgresUrlShown } from "@punctual/sql/postgresUrl"
import { Effect, Layer } from "effect"
import type { StoreAdapter, StoreChoice, StoreLayer, StoreOpening } from "../../ports/StoreAdapter.ts"

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
  documents: { can: () => Effect.flatMap(keeper, ({ PostgresKeeper }) => PostgresKeeper.documents(url)) },
  doctor: {
    can: () => Effect.flatMap(keeper, ({ PostgresKeeper }) => PostgresKeeper.examination(url, Date.now)),
  },
  migrate: {
    can: ({ shards }) => Effect.flatMap(keeper, ({ PostgresKeeper }) => PostgresKeeper.schema(url, shards)),
  },
  backup: {
    instead:
      "a store on PostgreSQL is backed up with PostgreSQL's own tools: pg_dump --schema=punctual, or a backup of the " +
      "server. To copy timers to another store, use punctual export.",
  },
  restore: {
    instead:
      "a store on PostgreSQL is restored with PostgreSQL's own tools, such as pg_restore, with every service stopped. " +
      "Then decide what to do with the overdue timers: punctual restore --force --due-before now fire|dead|discard.",
  },
  sealingKey: {
    instead:
      "Nodes share this store and all need the same key, so no node creates one by itself. Set TIMER_SECRET_KEY to the same key on all nodes; create one with: openssl rand -hex 32",
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
