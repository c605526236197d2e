// PostgreSQL stores on a server that the tests start, for suites and tests. Each test file starts one server, and every
// store has its own schema on it.
import { afterAll, beforeAll } from "bun:test"
import { SQL } from "bun"
import { Effect, Layer } from "effect"
import type { FinishedLife, Timer } from "../src/domain/Timer.ts"
import { textOfLog } from "../src/stores/AttemptLogText.ts"
import { PostgresStore } from "../src/stores/postgres/PostgresStore.ts"
import { textOfSpec } from "../src/stores/SpecText.ts"
import type { PostgresKind } from "./PostgresBinaries.ts"
import { PostgresServer, type PostgresServerOptions } from "./PostgresServer.ts"
import { RowDamage, tableOf } from "./RowDamage.ts"
import type { StorageFixture } from "./ShardStorage.suite.ts"
import type { StoreFixture } from "./StoreFixture.ts"
import { sampleTimer } from "./timers.ts"

/** A server for the tests of the current `describe`. */
export const serverForTests = (
  kind: PostgresKind,
  options: PostgresServerOptions = {},
): (() => PostgresServer) => {
  let server: PostgresServer | undefined
  beforeAll(async () => {
    server = await PostgresServer.start(kind, options)
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })
  return () => {
    if (server === undefined) throw new Error("the server has not been started")
    return server
  }
}

export const postgresFixture = (kind: PostgresKind, server: () => PostgresServer): StoreFixture => ({
  name: `postgres (${kind})`,
  fresh: ({ shards }) =>
    Layer.unwrap(
      Effect.sync(() => PostgresStore.layer({ url: server().database().url, shards, connections: 4 })),
    ),
  damageable: ({ shards }) =>
    Layer.unwrap(
      Effect.sync(() => {
        const { url, schema } = server().database()
        return Layer.merge(
          PostgresStore.layer({ url, shards, connections: 4 }),
          Layer.succeed(RowDamage, damageIn(server().url, schema)),
        )
      }),
    ),
  reopened: ({ shards }) => {
    const { url } = server().database()
    const layer = () => PostgresStore.layer({ url, shards, connections: 4 })
    return { first: layer(), second: layer(), dispose: () => {} }
  },
})

export const postgresStorageFixture = (kind: PostgresKind, server: () => PostgresServer): StorageFixture => ({
  name: `postgres (${kind})`,
  refusedTimer: sampleTimer({ correlationId: "a\0b" }),
  storage: ({ shards }) =>
    Layer.unwrap(
      Effect.sync(() => PostgresStore.layer({ url: server().database().url, shards, connections: 4 })),
    ),
})

const damageIn = (url: string, schema: string): RowDamage["Service"] => {
  const set = (row: Timer | FinishedLife, texts: Readonly<Record<string, string | null>>) =>
    Effect.promise(async () => {
      await using sql = new SQL({ url, max: 1 })
      const table = tableOf(row) === "timers" ? "timers" : "history"
      for (const [column, text] of Object.entries(texts)) {
        await sql.unsafe(
          `UPDATE ${schema}.${table} SET ${column} = $1::text WHERE namespace = $2 AND timer_id = $3`,
          [text, row.namespace, row.timerId],
        )
      }
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
