// MySQL, MariaDB and TiDB as a store: a database that several nodes share. Tasks that the server's own tools do better are
// refused, and the error names the tools.
import { Effect, Layer } from "effect"
import type { StoreAdapter, StoreChoice, StoreLayer, StoreOpening } from "../../ports/StoreAdapter.ts"
import { flavours, formOf, type MysqlTarget, mysqlUrlShown, parseMysqlUrl, titles } from "./mysqlUrl.ts"

export const mysql: StoreAdapter = {
  name: "mysql",
  schemes: flavours.map((flavour) => `${flavour}://`),
  forms: Object.fromEntries(
    flavours.map((flavour) => [formOf(flavour), `a ${titles[flavour]} database, which nodes can share`]),
  ),
  isShared: true,
  parse: (given) => {
    const parsed = parseMysqlUrl(given)
    return "problem" in parsed ? parsed : { value: choiceOf(parsed.value, mysqlUrlShown(given)) }
  },
  shown: mysqlUrlShown,
}

const choiceOf = (target: MysqlTarget, shown: string): StoreChoice => ({
  adapter: mysql,
  shown,
  place: shown,
  open: (opening) => layerOf(target, opening),
  offline: { can: (opening) => layerOf(target, opening) },
  archive: { can: () => Effect.flatMap(keeper, ({ MysqlKeeper }) => MysqlKeeper.archive(target)) },
  documents: { can: () => Effect.flatMap(keeper, ({ MysqlKeeper }) => MysqlKeeper.documents(target)) },
  doctor: {
    can: () => Effect.flatMap(keeper, ({ MysqlKeeper }) => MysqlKeeper.examination(target, Date.now)),
  },
  migrate: {
    can: ({ shards }) => Effect.flatMap(keeper, ({ MysqlKeeper }) => MysqlKeeper.schema(target, shards)),
  },
  backup: {
    instead:
      `a store on ${titles[target.flavour]} is backed up with its own tools, such as ${backupTools[target.flavour]}. ` +
      "To copy timers to another store, use punctual export.",
  },
  restore: {
    instead:
      `a store on ${titles[target.flavour]} is restored with its own tools, with every service stopped. ` +
      "Then decide what to do with the overdue timers: punctual restore --force --due-before now fire|dead|discard.",
  },
  sealingKey: {
    instead:
      "Nodes share this store and all need the same key, so no node creates one by itself. Set TIMER_SECRET_KEY to the same key on all nodes; create one with: openssl rand -hex 32",
  },
})

const backupTools = {
  mysql: "mysqldump --single-transaction",
  mariadb: "mariadb-dump --single-transaction or mariadb-backup",
  tidb: "br or Dumpling",
} as const

const fewConnections = 4

const layerOf = (target: MysqlTarget, { shards, connections, onFatal }: StoreOpening): StoreLayer =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./MysqlStore.ts")),
      ({ MysqlStore }) =>
        MysqlStore.layer({
          target,
          shards,
          ...(connections === "few" ? { connections: fewConnections } : {}),
          ...(onFatal === undefined ? {} : { onFatal }),
        }),
    ),
  )

const keeper = Effect.promise(() => import("./MysqlKeeper.ts"))
