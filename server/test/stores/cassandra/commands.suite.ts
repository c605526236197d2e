// The Cassandra store's archives, by the laws of the port.
import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { cassandraKeeper } from "../../../src/stores/cassandra/cassandraKeeper.ts"
import type { CassandraServer } from "../../../testkit/CassandraServer.ts"
import { cassandraLayer, targetOf } from "../../../testkit/cassandra.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { ArchiveOpening, timerArchiveSuite } from "../../../testkit/TimerArchive.suite.ts"
import { cancelOf, delivered, outcomeOf, sampleNow, samplePut } from "../../../testkit/timers.ts"

export const commandTests = (server: () => CassandraServer): void =>
  describe("commands on a Cassandra store", () => {
    timerArchiveSuite({
      name: "cassandra",
      fresh: ({ shards }) =>
        Layer.unwrap(
          Effect.sync(() => {
            const url = server().newUrl()
            return Layer.merge(
              cassandraLayer(url, shards),
              Layer.succeed(ArchiveOpening, { open: cassandraKeeper(targetOf(url)).archive }),
            )
          }),
        ),
    })

    const failureOf = <A>(opening: Effect.Effect<A, { readonly message: string }, never>) =>
      Effect.runPromise(Effect.map(Effect.flip(opening), ({ message }) => message))

    test("an archive and an examination create no store where there is none", async () => {
      const keeper = cassandraKeeper(targetOf(server().newUrl()))
      for (const open of [keeper.archive, keeper.examination(Date.now)]) {
        expect(
          await failureOf(
            Effect.scoped(open as typeof open & Effect.Effect<unknown, { message: string }, never>),
          ),
        ).toContain("There is no store")
      }
    })

    test("an examination counts the rows of each shard and finds what the tally says", async () => {
      const url = server().newUrl()
      const report = await Effect.runPromise(
        Effect.gen(function* () {
          const { write } = yield* owned
          const puts = Array.from({ length: 12 }, () => samplePut())
          const [first, second, third] = puts as [(typeof puts)[0], (typeof puts)[0], (typeof puts)[0]]
          yield* write(puts)
          yield* write([
            cancelOf(first.timer),
            outcomeOf(second.timer, delivered),
            outcomeOf(third.timer, { to: "dead", reason: "refused" }),
          ])
          const examination = yield* cassandraKeeper(targetOf(url)).examination(Date.now)
          const overdueBeforeMs = sampleNow + 1e12
          return yield* examination.examine({ overdueBeforeMs, overdueBeforeMsIfPaused: 0, isFull: false })
        }).pipe(Effect.provide(cassandraLayer(url, 4)), Effect.scoped),
      )
      const sum = (read: (shard: (typeof report.shards)[number]) => number) =>
        report.shards.reduce((total, shard) => total + read(shard), 0)
      expect(report.shards).toHaveLength(4)
      expect(sum(({ rows }) => rows.pending)).toBe(9)
      expect(sum(({ tally }) => tally.created)).toBe(12)
      expect([sum(({ rows }) => rows.cancelled), sum(({ rows }) => rows.delivered)]).toEqual([1, 1])
      expect(report.overdue.count).toBe(9)
      expect(report.deadByNamespace).toEqual([{ namespace: "shop", count: 1 }])
      expect([report.faults, report.unreadable]).toEqual([[], []])
      expect(Math.abs(report.clockOffsetMs ?? Number.NaN)).toBeLessThan(60_000)
    })

    test("a migration creates the store, and finds it again", async () => {
      const target = targetOf(server().newUrl())
      const versions = await Effect.runPromise(
        Effect.gen(function* () {
          const schema = yield* cassandraKeeper(target).schema(64)
          yield* schema.migrate
          yield* schema.migrate
          return yield* schema.versions
        }).pipe(Effect.scoped),
      )
      expect(versions.stored).toBe(versions.program)
    })
  })
