import { expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { dynamoKeeper } from "../../../src/stores/dynamodb/dynamoKeeper.ts"
import { dynamoMissing } from "../../../testkit/DynamoServer.ts"
import { describeNeeding } from "../../../testkit/describeUnless.ts"
import { dynamoForTests, dynamoStore, placeOf } from "../../../testkit/dynamodb.ts"
import { owned } from "../../../testkit/StoreFixture.ts"
import { cancelOf, outcomeOf, putOf, sampleNow, sampleTimer } from "../../../testkit/timers.ts"

describeNeeding(dynamoMissing(), "doctor on DynamoDB Local", () => {
  const server = dynamoForTests()

  test("counts the rows by shard and state, and the sums agree with them", async () => {
    const url = server().url()
    const report = await Effect.runPromise(
      Effect.gen(function* () {
        const services = yield* Layer.build(dynamoStore(url, { shards: 2 }))
        const { write, store } = yield* Effect.provideContext(owned, services)
        const timers = Array.from({ length: 6 }, (_, index) => sampleTimer({ fireAt: sampleNow + index }))
        const [first, second, third, , , last] = timers
        if (first === undefined || second === undefined || third === undefined || last === undefined)
          return undefined
        yield* write(timers.map((timer) => putOf(timer)))
        yield* write([
          cancelOf(first),
          outcomeOf(second, { to: "dead", reason: "refused" }),
          outcomeOf(third, { to: "delivered", latenessMs: 1 }),
        ])
        yield* store.insertIfAbsent(0, [])
        const doctor = yield* dynamoKeeper(placeOf(url)).examination(Date.now)
        const times = { overdueBeforeMs: last.fireAt, overdueBeforeMsIfPaused: 0 }
        return yield* doctor.examine({ ...times, isFull: false })
      }).pipe(Effect.scoped),
    )
    const sum = (part: (shard: NonNullable<typeof report>["shards"][number]) => number) =>
      report?.shards.reduce((total, shard) => total + part(shard), 0)
    expect(report?.shards).toHaveLength(2)
    expect([sum(({ rows }) => rows.pending), sum(({ tally }) => tally.created)]).toEqual([3, 6])
    expect([
      sum(({ rows }) => rows.dead),
      sum(({ rows }) => rows.delivered),
      sum(({ rows }) => rows.cancelled),
    ]).toEqual([1, 1, 1])
    expect(report).toMatchObject({
      store: "dynamodb",
      overdue: { count: 2 },
      deadByNamespace: [{ namespace: "shop", count: 1 }],
      faults: [],
      unreadable: [],
      targets: [{ url: "https://example.test", count: 3 }],
    })
  })

  test("says that there is no store", async () => {
    const failure = await Effect.runPromise(
      Effect.scoped(Effect.flip(dynamoKeeper(placeOf(server().url())).examination(Date.now))),
    )
    expect(failure.message).toContain("There is no store")
  })
})
