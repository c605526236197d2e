// Stores on MySQL, MariaDB and TiDB, on a server that the tests start, for suites and tests. Each test file starts one
// server of each product, and every store has its own database on it.
import { afterAll, beforeAll, describe, test } from "bun:test"
import { Effect, Layer } from "effect"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import { textOfLog } from "../src/stores/AttemptLogText.ts"
import { MysqlStore } from "../src/stores/mysql/MysqlStore.ts"
import { type MysqlTarget, parseMysqlUrl } from "../src/stores/mysql/mysqlUrl.ts"
import { textOfSpec } from "../src/stores/SpecText.ts"
import { describeNeeding } from "./describeUnless.ts"
import { clusterFaultsTried } from "./effort.ts"
import {
  type MysqlDatabase,
  type MysqlFlavour,
  MysqlServer,
  type MysqlServerOptions,
  mysqlBinaries,
} from "./MysqlServer.ts"
import { RowDamage, tableOf } from "./RowDamage.ts"
import type { StorageFixture } from "./ShardStorage.suite.ts"
import type { StoreFixture } from "./StoreFixture.ts"
import { sampleTimer } from "./timers.ts"

/** TiDB's server takes an hour to build, so CI need not have it. Its tests take long, so only the matrix has them. */
export const describeMysql = (flavour: MysqlFlavour, name: string, body: () => void): void => {
  const binaries = mysqlBinaries(flavour)
  const missing = "missing" in binaries ? binaries.missing : undefined
  if (flavour !== "tidb") describeNeeding(missing, name, body)
  else {
    const reason = missing ?? (clusterFaultsTried === "all" ? undefined : "npm run test:matrix tests TiDB")
    // One skip instead of hundreds.
    if (reason === undefined) describe(name, body)
    else test.skip(`${name} (skipped: ${reason})`, () => {})
  }
}

/** A server for the tests of the current `describe`. */
export const mysqlForTests = (
  flavour: MysqlFlavour,
  options: MysqlServerOptions = {},
): (() => MysqlServer) => {
  let server: MysqlServer | undefined
  beforeAll(async () => {
    server = await MysqlServer.start(flavour, options)
  }, 120_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })
  return () => {
    if (server === undefined) throw new Error("the server has not been started")
    return server
  }
}

export const targetAt = (url: string): MysqlTarget => {
  const parsed = parseMysqlUrl(url)
  if ("problem" in parsed) throw new Error(`the URL ${parsed.problem}`)
  return parsed.value
}

export const mysqlStoreAt = (url: string, shards: number, connections = 4) =>
  MysqlStore.layer({ target: targetAt(url), shards, connections })

/** A layer that needs an empty database. When the layer is closed, the next one may have the database. */
export const onNewDatabase = <A, E>(
  server: () => MysqlServer,
  layer: (database: MysqlDatabase) => Layer.Layer<A, E>,
): Layer.Layer<A, E> =>
  Layer.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.promise(() => server().database()),
        (database) => Effect.sync(() => server().recycle(database)),
      ),
      layer,
    ),
  )

export const mysqlFixture = (flavour: MysqlFlavour, server: () => MysqlServer): StoreFixture => ({
  name: flavour,
  fresh: ({ shards }) => onNewDatabase(server, ({ url }) => mysqlStoreAt(url, shards)),
  damageable: ({ shards }) =>
    onNewDatabase(server, (database) =>
      Layer.merge(
        mysqlStoreAt(database.url, shards),
        Layer.succeed(RowDamage, damageIn(server(), database.name)),
      ),
    ),
  reopened: ({ shards }) => {
    const database = server().database()
    const layer = () =>
      Layer.unwrap(
        Effect.map(
          Effect.promise(() => database),
          ({ url }) => mysqlStoreAt(url, shards),
        ),
      )
    return { first: layer(), second: layer(), dispose: () => {} }
  },
})

export const mysqlStorageFixture = (flavour: MysqlFlavour, server: () => MysqlServer): StorageFixture => ({
  name: flavour,
  refusedTimer: sampleTimer({ correlationId: "a\ud800b" }),
  storage: ({ shards }) => onNewDatabase(server, ({ url }) => mysqlStoreAt(url, shards)),
})

const quoted = (text: string | null): string =>
  text === null ? "NULL" : `x'${Buffer.from(text).toString("hex")}'`

const damageIn = (server: MysqlServer, database: string): RowDamage["Service"] => {
  const set = (row: Timer | FinishedLife, texts: Readonly<Record<string, string | null>>) =>
    Effect.promise(async () => {
      const isPending = tableOf(row) === "timers"
      const key = `namespace = ${quoted(row.namespace)} AND timer_id = ${quoted(row.timerId)}`
      const statements = Object.entries(texts).map(([column, text]) =>
        isPending && column === "spec"
          ? `UPDATE ${database}.bodies SET spec = ${quoted(text)}
              WHERE uuid = (SELECT uuid FROM ${database}.timers WHERE ${key})`
          : `UPDATE ${database}.${isPending ? "timers" : "history"} SET ${column} = ${quoted(text)} WHERE ${key}`,
      )
      await server.admin(...statements)
    })
  return {
    damage: (row, texts) => set(row, { ...texts }),
    repair: (row) =>
      set(row, {
        spec: textOfSpec(row.spec),
        last_attempt: row.attemptLog === undefined ? null : textOfLog(row.attemptLog),
        tags: row.tags === undefined ? null : JSON.stringify(row.tags),
      }),
  }
}
