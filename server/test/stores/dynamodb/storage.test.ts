// What is special about DynamoDB: pages that are short although more follows, transactions that conflict, a late call of
// an old owner, limits of items and transactions, and items that expire.
import { expect, test } from "bun:test"
import { Effect, ManagedRuntime } from "effect"
import { beginning } from "../../../src/domain/DueOrder.ts"
import { madeCorrelationId } from "../../../src/domain/words.ts"
import { ShardLeases } from "../../../src/ports/ShardLeases.ts"
import { ShardStorage } from "../../../src/ports/ShardStorage.ts"
import { type DynamoStoreOptions, tablesAt } from "../../../src/stores/dynamodb/DynamoStore.ts"
import { keyPlace, lifePlace, tableNamesOf } from "../../../src/stores/dynamodb/keys.ts"
import { dynamoMissing } from "../../../testkit/DynamoServer.ts"
import { describeNeeding } from "../../../testkit/describeUnless.ts"
import { dynamoForTests, dynamoStore, placeOf } from "../../../testkit/dynamodb.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { at, owned } from "../../../testkit/StoreFixture.ts"
import { TcpProxy } from "../../../testkit/TcpProxy.ts"
import {
  cancelOf,
  delivered,
  discardOf,
  outcomeOf,
  putOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleTimer,
} from "../../../testkit/timers.ts"

describeNeeding(dynamoMissing(), "a store on DynamoDB Local", () => {
  const server = dynamoForTests()

  /** A store of one shard, its owner, and its tables. */
  const setUp = async (options: Partial<DynamoStoreOptions> = {}, url = server().url()) => {
    const runtime = ManagedRuntime.make(dynamoStore(url, { shards: 1, ...options }))
    const place = placeOf(url)
    return {
      ...(await runtime.runPromise(owned)),
      url,
      storage: await runtime.runPromise(ShardStorage),
      run: <A, E>(effect: Effect.Effect<A, E, never>) => runtime.runPromise(effect),
      tables: tablesAt(placeOf(server().url(undefined, place.prefix))),
      names: tableNamesOf(place.prefix),
      [Symbol.asyncDispose]: () => runtime.dispose(),
    }
  }

  test("a page is full although DynamoDB's Limit counts rows that the filter then leaves out", async () => {
    await using own = await setUp()
    const many = Array.from({ length: 40 }, (_, index) =>
      sampleTimer({ namespace: "many", fireAt: sampleNow + index }),
    )
    const few = Array.from({ length: 5 }, (_, index) =>
      sampleTimer({ namespace: "few", fireAt: sampleNow + 100 + index }),
    )
    await own.run(own.write([...many, ...few].map((timer) => putOf(timer))))
    // DynamoDB itself: a page of ten rows, none of which passes the filter, and more follow.
    const page = await own.tables.page(
      {
        table: own.names.timers,
        index: "due",
        partition: ["shard", 0],
        filter: (expression) => `NOT begins_with(${expression.name("id")}, ${expression.value("many/")})`,
      },
      10,
      undefined,
    )
    expect([page.items, page.next === undefined]).toEqual([[], false])
    const query = {
      shard: 0,
      exclusiveAfter: beginning,
      inclusiveUntilMs: sampleNow + 1_000,
      limit: 3,
      except: ["many"],
    }
    const found = await own.run(own.store.due(query))
    expect(found.timers.map(({ fireAt }) => fireAt - sampleNow)).toEqual([100, 101, 102])
    expect(await own.run(own.store.dueHeads({ ...query, limit: 10 }))).toHaveLength(5)
    // Keys without a pending timer are in the way of a scan by id.
    await own.run(own.write(many.slice(1).map((timer) => cancelOf(timer))))
    const [heads] = await own.run(
      own.storage.scan([{ order: "pendingId", namespace: "many", isDescending: false, limit: 2 }]),
    )
    expect(heads?.map(({ timerId }) => timerId)).toEqual([at(many, 0).timerId])
  })

  test("a commit of an old owner that arrives after the next owner's claim changes nothing", async () => {
    await using proxy = await TcpProxy.before({ host: "127.0.0.1", port: server().process.port })
    const direct = server().url()
    const { prefix } = placeOf(direct)
    await using old = await setUp({}, server().url(proxy.address, prefix))
    await old.run(old.write([samplePut({ timerId: "first" })]))
    await using next = await setUp({}, direct)
    const [epoch = 0] = old.epochs
    proxy.hold()
    // Without words, the first request is the commit itself.
    const put = samplePut({ timerId: "late", correlationId: madeCorrelationId(sampleId()) })
    const late = old.run(Effect.exit(old.store.write([{ shard: 0, epoch, items: [put] }])))
    await eventually("the commit is held", () => proxy.isHolding("TransactWriteItems") || undefined)
    await next.run(next.write([samplePut({ timerId: "of the next owner" })]))
    proxy.cutHeld()
    const replied = await proxy.release()
    expect(replied).toContain("ConditionalCheckFailed")
    expect(await late).toMatchObject({ _tag: "Success", value: [{ result: "ownershipLost" }] })
    expect((await next.run(next.store.find(put.timer))).pending).toBeUndefined()
    expect((await next.run(next.store.tally)).created).toBe(2)
  })

  test("commits that conflict are sent again: each is carried out or overtaken, and none fails", async () => {
    await using own = await setUp()
    const [epoch = 0] = own.epochs
    const commits = Array.from({ length: 24 }, (_, index) => ({
      shard: 0,
      epoch,
      number: index + 1,
      changes: [],
    }))
    const answers = await own.run(
      Effect.forEach(commits, (commit) => own.storage.commit([commit]), { concurrency: "unbounded" }),
    )
    const results = new Set(answers.map(([answer]) => answer?.result))
    expect([...results].filter((result) => result !== "committed" && result !== "overtaken")).toEqual([])
    expect(at(answers, 23)).toMatchObject([{ result: "committed" }])
  })

  test("dead letters that do not fit into one transaction are stored in several commits of one call", async () => {
    await using own = await setUp()
    const payload = new Uint8Array(200_000).fill(7)
    const timers = Array.from({ length: 33 }, () => sampleTimer({ fireAt: sampleNow, payload }))
    for (const timer of timers) await own.run(own.write([putOf(timer)]))
    const answers = await own.run(
      own.write(timers.map((timer) => outcomeOf(timer, { to: "dead", reason: "refused" }))),
    )
    expect(new Set(answers.map(({ result }) => result))).toEqual(new Set(["settled"]))
    const found = await own.run(own.store.find(at(timers, 32)))
    expect(found.last?.payload).toEqual(payload)
    expect((await own.run(own.store.tally)).dead).toBe(33)
  })

  test("an item above DynamoDB's 400 KB is refused with the reason, and a smaller one is stored", async () => {
    await using own = await setUp()
    const headers = { "x-long": "x".repeat(250_000) }
    const { spec } = sampleTimer()
    const large = { ...spec, target: { ...spec.target, headers } }
    const timers = [200_000, 100_000].map((bytes) =>
      sampleTimer({ spec: large, payload: new Uint8Array(bytes) }),
    )
    const answers = await own.run(own.write(timers.map((timer) => putOf(timer))))
    expect(answers.map(({ result }) => result)).toEqual(["unstorable", "created"])
  })

  test("history expires by DynamoDB's time to live, in seconds, and dead letters and their keys do not", async () => {
    const retentionMs = 86_400_000
    await using own = await setUp({ historyRetentionMs: retentionMs })
    const [ends, dies] = [sampleTimer({ fireAt: sampleNow }), sampleTimer({ fireAt: sampleNow })]
    await own.run(own.write([ends, dies].map((timer) => putOf(timer))))
    await own.run(
      own.write([
        outcomeOf(ends, delivered, { at: sampleNow + 1 }),
        outcomeOf(dies, { to: "dead", reason: "refused" }),
      ]),
    )
    const ttlOf = async (timer: typeof ends) => {
      const life = await own.tables.get(lifePlace(own.names, timer.uuid, timer.fireId))
      const key = await own.tables.get(keyPlace(own.names, 0, timer))
      return [life?.["ttl"], key?.["ttl"]]
    }
    const expiry = Math.ceil((sampleNow + 1 + retentionMs) / 1_000)
    expect(await ttlOf(ends)).toEqual([expiry, expiry])
    expect(await ttlOf(dies)).toEqual([undefined, undefined])
    // A pending timer never expires, and a later life of a key with a dead letter does not take the key with it.
    const again = sampleTimer({ timerId: ends.timerId, createdAt: sampleNow + 9, fireAt: sampleNow + 9 })
    await own.run(own.write([putOf(again)]))
    expect((await own.tables.get(keyPlace(own.names, 0, ends)))?.["ttl"]).toBeUndefined()
    const second = sampleTimer({ timerId: dies.timerId, createdAt: sampleNow + 9, fireAt: sampleNow + 9 })
    await own.run(own.write([putOf(second)]))
    await own.run(own.write([cancelOf(second)]))
    expect((await own.tables.get(keyPlace(own.names, 0, dies)))?.["ttl"]).toBeGreaterThan(expiry * 10)
    await own.run(own.write([discardOf({ ...dies })]))
    expect((await own.tables.get(keyPlace(own.names, 0, dies)))?.["ttl"]).toBeLessThan(expiry + 10)
    // DynamoDB has a few days to remove it. Then a prune does.
    const day = 86_400_000
    expect(await own.run(own.store.prune(sampleNow + 3 * day, 10))).toBe(0)
    const removed = [0, 1].map(() => own.run(own.store.prune(sampleNow + 5 * day, 10)))
    expect((await Promise.all(removed)).reduce((sum, count) => sum + count, 0)).toBe(2)
  })

  test("a key whose last life has expired counts as unused, also if only the life is gone", async () => {
    await using own = await setUp()
    const timer = sampleTimer({ fireAt: sampleNow })
    await own.run(own.write([putOf(timer)]))
    await own.run(own.write([outcomeOf(timer, delivered)]))
    await own.tables.delete(lifePlace(own.names, timer.uuid, timer.fireId))
    expect(await own.run(own.store.find(timer))).toEqual({ pending: undefined, last: undefined })
    expect(await own.tables.get(keyPlace(own.names, 0, timer))).toBeUndefined()
    const next = sampleTimer({ timerId: timer.timerId })
    expect(await own.run(own.write([putOf(next)]))).toMatchObject([{ result: "created" }])
  })

  test("several owners of one item: nodes renew their shards side by side, and a lost shard is told", async () => {
    const url = server().url()
    const runtime = ManagedRuntime.make(dynamoStore(url, { shards: 64 }))
    const leases = await runtime.runPromise(ShardLeases)
    const all = await runtime.runPromise(leases.owners)
    const held = await runtime.runPromise(
      Effect.forEach(all, (lease) => leases.claim(lease, lease.shard % 2 === 0 ? "a" : "b"), {
        concurrency: 8,
      }),
    )
    const parts = [0, 1].map((rest) =>
      held.flatMap((lease) => ((lease?.shard ?? 0) % 2 === rest && lease ? [lease] : [])),
    )
    expect(parts.map(({ length }) => length)).toEqual([32, 32])
    const renewed = await runtime.runPromise(Effect.forEach(parts, leases.renew, { concurrency: 2 }))
    expect(renewed.flat()).not.toContain(undefined)
    const [lost] = parts[0] ?? []
    const watched = at(await runtime.runPromise(leases.owners), lost?.shard ?? 0)
    await runtime.runPromise(leases.claim(watched, "b"))
    const again = await runtime.runPromise(leases.renew(parts[0] ?? []))
    expect(again.filter((one) => one === undefined)).toHaveLength(1)
    await runtime.dispose()
  })
})
