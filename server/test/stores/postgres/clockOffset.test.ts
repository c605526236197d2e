// The difference between a clock and the database's, with a real database on this machine, which has the same clock.
import { expect, test } from "bun:test"
import { Effect } from "effect"
import { StoreClock } from "../../../src/ports/StoreClock.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"

describePostgres("installed", "the offset of a clock", () => {
  const server = serverForTests("installed")

  test("is how far the clock is ahead or behind", async () => {
    const layer = PostgresStore.layer({ url: server().database().url, shards: 1, connections: 4 })
    const offsets = await Effect.runPromise(
      Effect.gen(function* () {
        const { offsetMs } = yield* StoreClock
        return yield* Effect.forEach([0, 60_000, -60_000], (offMs) => offsetMs(() => Date.now() + offMs))
      }).pipe(Effect.provide(layer), Effect.scoped),
    )
    const [none, ahead, behind] = offsets.map((offset) => Math.round(offset / 1_000))
    expect([Math.abs(none ?? 9), ahead, behind]).toEqual([0, 60, -60])
  })

  test("does not include the time of the call", async () => {
    const layer = PostgresStore.layer({ url: server().database().url, shards: 1, connections: 4 })
    // A clock that is right, but on which each call seems to take four seconds.
    let reads = 0
    const slow = () => Date.now() + (reads++ % 2 === 0 ? -2_000 : 2_000)
    const offset = await Effect.runPromise(
      Effect.flatMap(StoreClock, ({ offsetMs }) => offsetMs(slow)).pipe(Effect.provide(layer), Effect.scoped),
    )
    expect(Math.abs(offset)).toBeLessThan(1_000)
  })
})
