// The PostgreSQL store's archives, by the laws of the port on both servers, and one case that only a connection has: it
// can end.
import { describe, expect, test } from "bun:test"
import { SQL } from "bun"
import { Effect, Layer } from "effect"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { postgresKeeper } from "../../../src/stores/postgres/postgresKeeper.ts"
import { describePostgres, type PostgresKind } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { ArchiveOpening, timerArchiveSuite } from "../../../testkit/TimerArchive.suite.ts"

for (const kind of ["installed", "packaged"] satisfies ReadonlyArray<PostgresKind>) {
  describePostgres(kind, `on the ${kind} server`, () => {
    const server = serverForTests(kind)
    timerArchiveSuite({
      name: `postgres (${kind})`,
      fresh: ({ shards }) =>
        Layer.unwrap(
          Effect.sync(() => {
            const { url } = server().database()
            return Layer.merge(
              PostgresStore.layer({ url, shards, connections: 4 }),
              Layer.succeed(ArchiveOpening, { open: postgresKeeper(url).archive }),
            )
          }),
        ),
    })

    describe("the archive of a schema", () => {
      test("creates no schema where there is none", async () => {
        const { url } = server().database()
        const failure = await Effect.runPromise(Effect.scoped(Effect.flip(postgresKeeper(url).archive)))
        expect(failure).toMatchObject({ reason: "missing" })
      })

      test("fails when its connection ends, instead of reading from another instant", async () => {
        const { url } = server().database()
        const failure = await Effect.runPromise(
          Effect.gen(function* () {
            yield* Layer.build(PostgresStore.layer({ url, shards: 1, connections: 4 }))
            const archive = yield* postgresKeeper(url).archive
            yield* archive.page(undefined, 10)
            const plainUrl = url.replace(/\?.*$/, "")
            const sql = yield* Effect.acquireRelease(
              Effect.sync(() => new SQL({ url: plainUrl, max: 1 })),
              (connection) => Effect.promise(() => connection.close()),
            )
            yield* Effect.promise(() =>
              sql.unsafe(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'",
              ),
            )
            return yield* Effect.flip(archive.page(undefined, 10))
          }).pipe(Effect.scoped),
        )
        expect(failure._tag).toBe("StoreError")
      })
    })
  })
}
