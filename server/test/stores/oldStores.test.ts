// Stores of earlier programs still open with everything in them, and their timers fire. The fixtures are real: a file
// that SqliteStore wrote, and a script of what PostgresStore left on a server.
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gunzipSync } from "node:zlib"
import { Documents } from "@punctual/documents/Documents"
import { Deferred, Effect, Layer } from "effect"
import { beginning, compareDue } from "../../src/domain/DueOrder.ts"
import type { Target } from "../../src/domain/Timer.ts"
import { shardOf } from "../../src/domain/TimerKey.ts"
import { defaultEngineOptions, Engine } from "../../src/engine/Engine.ts"
import { NamespaceDirectory } from "../../src/engine/namespaces/NamespaceDirectory.ts"
import { SettingsRecords } from "../../src/engine/namespaces/SettingsRecords.ts"
import { type Deliverer, Deliverers, type Fire } from "../../src/ports/Deliverer.ts"
import { Ids } from "../../src/ports/Ids.ts"
import { ShardLeases } from "../../src/ports/ShardLeases.ts"
import { TimerStore } from "../../src/ports/TimerStore.ts"
import { WallClock } from "../../src/ports/WallClock.ts"
import { PostgresStore } from "../../src/stores/postgres/PostgresStore.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../testkit/postgres.ts"
import { idsOf, type Store, walkList } from "../../testkit/StoreFixture.ts"
import { sqliteAt } from "../../testkit/sqlite.ts"
import { TemporaryFolder } from "../../testkit/TemporaryFolder.ts"
import { epoch, finished, pending, settings, shards, tally } from "./fixtures/contents.ts"

// Servers and threads start slowly while other tests use the machine.
setDefaultTimeout(60_000)

const fixture = (name: string): string => join(import.meta.dirname, "fixtures", name)

/** The time at which the engine runs. All timers except the one of the year 2100 are due. */
const firingMs = Date.UTC(2025, 5, 17)
const pausedNamespace = "bank"
const overdue = pending.filter(({ namespace, fireAt }) => fireAt <= firingMs && namespace !== pausedNamespace)
const staying = pending.filter((timer) => !overdue.includes(timer))

const namespaces = ["shop", pausedNamespace]
const states = ["pending", "delivered", "cancelled", "dead"] as const

type OldStore = Layer.Layer<Store, { readonly message: string }>

const within = <A, E>(store: OldStore, body: Effect.Effect<A, E, Store>): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.provide(body, store)))

const expectSettingsAsWritten = Effect.gen(function* () {
  const stored = yield* new SettingsRecords(yield* Documents).changesAfter(0, 100)
  expect(stored).toEqual(settings)
})

const listed = Effect.fnUntraced(function* (state: (typeof states)[number]) {
  const pages = yield* Effect.forEach(namespaces, (namespace) =>
    // The earliest first. For finished lives that is the reverse order.
    walkList({ namespace, state, reversed: state !== "pending", includePayload: true, limit: 3 }),
  )
  return pages.flat().flatMap(({ items }) => items.map((item) => ("timer" in item ? item.timer : item.life)))
})

const expectAsWritten = Effect.gen(function* () {
  const store = yield* TimerStore
  const lives = Object.values(finished).flat()
  expect(yield* listed("pending")).toEqual([...pending])
  for (const state of ["delivered", "cancelled", "dead"] as const) {
    expect(yield* listed(state)).toEqual([...finished[state]])
  }
  for (const known of [...pending, ...lives]) {
    const isOfKey = ({ uuid }: { readonly uuid: string }) => uuid === known.uuid
    const last = lives.filter(isOfKey).sort((a, b) => b.revision - a.revision)[0]
    expect(yield* store.find(known)).toEqual({ pending: pending.find(isOfKey), last })
  }
  expect(yield* store.tally).toEqual(tally)
  for (let shard = 0; shard < shards; shard++) {
    const due = (yield* store.due({
      shard,
      exclusiveAfter: beginning,
      inclusiveUntilMs: Number.MAX_SAFE_INTEGER,
      limit: 100,
    })).timers
    const ofShard = pending.filter(({ uuid }) => shardOf(uuid, shards) === shard)
    expect(due).toEqual(ofShard.sort(compareDue))
  }
  const owners = yield* (yield* ShardLeases).owners
  expect(owners.map(({ shard, epoch, node }) => ({ shard, epoch, node }))).toEqual(
    Array.from({ length: shards }, (_, shard) => ({ shard, epoch, node: undefined })),
  )
})

const expectFoundByCorrelation = Effect.gen(function* () {
  for (const state of states) {
    const stored = state === "pending" ? pending : finished[state]
    for (const { namespace, correlationId } of stored) {
      const expected = stored.filter(
        (row) => row.namespace === namespace && row.correlationId === correlationId,
      )
      const query = { namespace, state, correlationId, reversed: false, includePayload: false, limit: 2 }
      const found = idsOf(yield* walkList(query))
      expect([correlationId, found.toSorted()]).toEqual([
        correlationId,
        expected.map(({ timerId }) => timerId).toSorted(),
      ])
    }
  }
})

/** Runs the engine until it has delivered and stored all overdue timers. */
const fireOverdue = (store: OldStore): Promise<ReadonlyArray<Fire>> =>
  Effect.runPromise(
    Effect.gen(function* () {
      const fires: Array<Fire> = []
      const hasFired = yield* Deferred.make<void>()
      const recording: Deliverer = {
        deliver: (fire) =>
          Effect.gen(function* () {
            fires.push(fire)
            if (fires.length === overdue.length) yield* Deferred.succeed(hasFired, undefined)
            return { kind: "delivered", status: 200 } as const
          }),
        hostOf: ({ type }) => type,
      }
      const types: ReadonlyArray<Target["type"]> = ["webhook", "event", "handler"]
      const engine = Engine.layer(defaultEngineOptions).pipe(
        Layer.provide(NamespaceDirectory.layer()),
        Layer.provide([
          store,
          Layer.succeed(Deliverers, { byType: new Map(types.map((type) => [type, recording])) }),
          Layer.succeed(WallClock, { now: () => firingMs }),
          Ids.system,
        ]),
      )
      yield* Effect.gen(function* () {
        yield* Deferred.await(hasFired).pipe(Effect.timeout(20_000))
        yield* (yield* Engine).drain(5_000)
      }).pipe(Effect.provide(engine), Effect.scoped)
      return fires
    }),
  )

const byId = (a: { readonly timerId: string }, b: { readonly timerId: string }): number =>
  a.timerId < b.timerId ? -1 : 1

const expectFired = (fires: ReadonlyArray<Fire>): void => {
  const asStored = overdue.toSorted(byId).map((timer) => ({
    namespace: timer.namespace,
    timerId: timer.timerId,
    fireId: timer.fireId,
    attempt: timer.attempts + 1,
    maxAttempts: timer.spec.retryPolicy.maxAttempts,
    revision: timer.revision,
    executeAt: timer.executeAt,
    firedAt: firingMs,
    correlationId: timer.correlationId,
    target: timer.spec.target,
    payload: timer.payload,
  }))
  expect(fires.toSorted(byId).map(({ epoch: _, ...fire }) => fire)).toEqual(asStored)
  for (const fire of fires) expect(fire.epoch).toBeGreaterThan(epoch)
}

const expectDelivered = Effect.gen(function* () {
  const store = yield* TimerStore
  for (const { attempts, attemptLog = [], ...timer } of overdue) {
    const { pending: left, last } = yield* store.find(timer)
    expect(left).toBeUndefined()
    expect(last).toMatchObject({ state: "delivered", fireId: timer.fireId, attempts: attempts + 1 })
    // The attempts of the old program are still there, with the last one added.
    expect(last?.attemptLog?.slice(0, -1)).toEqual([...attemptLog])
  }
  expect(yield* listed("pending")).toEqual([...staying])
  expect(yield* listed("dead")).toEqual([...finished.dead])
  expect(yield* store.tally).toEqual({ ...tally, delivered: tally.delivered + overdue.length })
})

const lawsOfOldStores = (freshCopy: () => Promise<OldStore>): void => {
  test("holds every timer, life, dead letter and lease as it was written", async () => {
    await within(await freshCopy(), expectAsWritten)
  })

  test("holds every settings record as it was written", async () => {
    await within(await freshCopy(), expectSettingsAsWritten)
  })

  test("finds timers and lives by their correlation ids, given or made", async () => {
    await within(await freshCopy(), expectFoundByCorrelation)
  })

  test("fires overdue timers once and as they were stored, and no others", async () => {
    const store = await freshCopy()
    expectFired(await fireOverdue(store))
    await within(store, expectDelivered)
  })
}

describe("an SQLite file of schema version 4", () => {
  const folder = new TemporaryFolder()
  afterAll(() => folder[Symbol.dispose]())
  let copies = 0

  lawsOfOldStores(async () => {
    const path = join(folder.path, `${++copies}.db`)
    writeFileSync(path, gunzipSync(readFileSync(fixture("sqlite-v4.db.gz"))))
    return sqliteAt(path, { shards })
  })
})

describePostgres("installed", "a PostgreSQL store of schema version 7", () => {
  const server = serverForTests("installed")

  lawsOfOldStores(async () => {
    const { url, schema } = server().database()
    const sql = new Bun.SQL({ url: server().url, max: 1 })
    try {
      await sql.unsafe(`CREATE SCHEMA "${schema}"; SET search_path TO "${schema}", pg_temp`).simple()
      await sql.unsafe(readFileSync(fixture("postgres-v7.sql"), "utf8")).simple()
    } finally {
      await sql.close()
    }
    return PostgresStore.layer({ url, shards, connections: 4 })
  })
})
