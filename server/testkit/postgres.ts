// PostgreSQL stores on a server of the test's own, for suites and tests. A server is started once for a test file,
// and every store has a schema of its own on it.
import { afterAll, beforeAll } from "bun:test"
import { Effect, Layer } from "effect"
import { PostgresStore } from "../src/stores/postgres/PostgresStore.ts"
import type { PostgresKind } from "./PostgresBinaries.ts"
import { PostgresServer, type PostgresServerOptions } from "./PostgresServer.ts"
import type { StoreFixture } from "./StoreFixture.ts"

/** A server for the tests of the `describe` that this is called in. */
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
  reopened: ({ shards }) => {
    const { url } = server().database()
    const layer = () => PostgresStore.layer({ url, shards, connections: 4 })
    return { first: layer(), second: layer(), dispose: () => {} }
  },
})
