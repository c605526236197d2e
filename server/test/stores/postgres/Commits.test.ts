// What only PostgreSQL does in writing: it refuses some items, merges and compares specs, and keeps payloads out of
// line.
import { expect, test } from "bun:test"
import { Effect, ManagedRuntime } from "effect"
import { keyOf } from "../../../src/domain/TimerKey.ts"
import type { WriteItem } from "../../../src/domain/WriteItem.ts"
import { madeCorrelationId } from "../../../src/domain/words.ts"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../../testkit/postgres.ts"
import { at, owned, timerIn } from "../../../testkit/StoreFixture.ts"
import {
  changeOf,
  delivered,
  outcomeOf,
  putOf,
  sampleId,
  sampleNow,
  samplePut,
  sampleSpec,
  sampleTimer,
} from "../../../testkit/timers.ts"

describePostgres("installed", "writing to PostgreSQL", () => {
  const server = serverForTests("installed")

  const setUp = async () => {
    const database = server().database()
    const runtime = ManagedRuntime.make(PostgresStore.layer({ url: database.url, shards: 4, connections: 4 }))
    const { store, write } = await runtime.runPromise(owned)
    return {
      ...database,
      store,
      write: (items: ReadonlyArray<WriteItem>) => runtime.runPromise(write(items)),
      find: (item: WriteItem & { kind: "put" }) => runtime.runPromise(store.find(item.timer)),
      [Symbol.asyncDispose]: () => runtime.dispose(),
    }
  }

  test("an item that PostgreSQL would refuse is unstorable, and the other items are stored", async () => {
    await using rig = await setUp()
    const { target } = sampleSpec
    if (target.type !== "webhook") throw new Error("unreachable")
    const withHeader = (value: string) => ({
      ...sampleSpec,
      target: { ...target, headers: { "x-a": value } },
    })
    const faulty: ReadonlyArray<WriteItem> = [
      samplePut({ correlationId: "a\0b" }),
      samplePut({ timerId: "half \ud800 a character" }),
      samplePut({ timerId: "long".repeat(300) }),
      samplePut({ fireId: "not a uuid" }),
      samplePut({ fireAt: Number.NaN }),
      samplePut({ executeAt: 2 ** 60 }),
      samplePut({ attempts: 0.5 }),
      putOf({ ...sampleTimer(), uuid: "short" }),
      samplePut({ fireId: "-".repeat(36) }),
      samplePut({ fireId: "0".repeat(32) }),
      samplePut({ attempts: 2 ** 31 }),
      samplePut({ tags: ["a\0b"] }),
      samplePut({ tags: ["a", "half \ud800 a character"] }),
      { kind: "restore", archived: { kind: "pending", timer: sampleTimer({ attempts: 2 ** 31 }) } },
    ]
    for (const item of faulty) {
      const [before, after] = [samplePut(), samplePut()]
      const answers = await rig.write([before, item, after])
      expect(answers.map(({ result }) => result)).toEqual(["created", "unstorable", "created"])
    }
    // Specs are stored as JSON, which can hold any text.
    for (const value of ["a\0b", "\udc00", "a\\u0000 \\\\ud800 \u{1F600}"]) {
      const sound = samplePut({ spec: withHeader(value) })
      expect((await rig.write([sound])).map(({ result }) => result)).toEqual(["created"])
      expect((await rig.find(sound)).pending).toEqual(sound.timer)
    }
  })

  test("texts of any form and payloads of all sizes come back unchanged, together and alone", async () => {
    await using rig = await setUp()
    const texts = [
      ...["plain", "a\u001fb", "\u001f", "\u001e", "\u001e\u001f", "", "NULL", "null", "{}", "a,b", " "],
      ...['"', "\\", '\\"', "it's", "\n", "\u{1F600}"],
    ]
    const puts = texts.map((correlationId, index) => {
      const { payload: _, ...timer } = sampleTimer({ timerId: `${correlationId} ${index}`, correlationId })
      return putOf(index % 3 === 0 ? timer : { ...timer, payload: Buffer.alloc(index % 3, index) })
    })
    const sameSize = [1, 2, 3].map((byte) => samplePut({ payload: Buffer.alloc(2, byte) }))
    const alone = texts.map((correlationId) => samplePut({ correlationId }))
    for (const batch of [puts, puts.slice(0, 1), sameSize, ...alone.map((put) => [put])]) {
      const fresh = batch.map((put) =>
        putOf({ ...put.timer, ...keyOf("t", `${put.timer.timerId} ${sampleId()}`) }),
      )
      const answers = await rig.write(fresh)
      expect(answers.map(({ result }) => result)).toEqual(fresh.map(() => "created"))
      for (const { timer } of fresh) expect((await rig.find(putOf(timer))).pending).toEqual(timer)
      const ended = await rig.write(
        fresh.map(({ timer }) => outcomeOf(timer, { to: "dead", reason: `${timer.correlationId} ` })),
      )
      expect(ended.map(({ result }) => result)).toEqual(fresh.map(() => "settled"))
      for (const { timer } of fresh) {
        const { last } = await rig.find(putOf(timer))
        expect(last?.correlationId).toBe(timer.correlationId)
        expect(last?.reason).toBe(`${timer.correlationId} `)
        expect(last?.payload).toEqual(timer.payload)
      }
    }
  })

  test("the index of words holds the words of existing rows: none of timers without words, and none of removed rows", async () => {
    await using rig = await setUp()
    await using sql = new Bun.SQL({ url: server().url, max: 1 })
    const words = async () => {
      const rows: ReadonlyArray<{ word: string; state: string }> = await sql.unsafe(
        `SELECT word, state FROM ${rig.schema}.lookups ORDER BY word, state`,
      )
      return rows.map(({ word, state }) => `${word} ${state}`)
    }
    await rig.write([samplePut({ correlationId: madeCorrelationId(sampleId()) })])
    expect(await words()).toEqual([])
    const timer = sampleTimer({ tags: ["a"], correlationId: "b" })
    const [created] = await rig.write([putOf(timer)])
    expect(await words()).toEqual(["c:b pending", "t:a pending"])
    const [retried] = await rig.write([outcomeOf(timerIn(created), { to: "retry", fireAt: sampleNow + 9 })])
    expect(await words()).toEqual(["c:b pending", "t:a pending"])
    const [changed] = await rig.write([changeOf(timer, { tags: ["c", "d"] })])
    expect(await words()).toEqual(["c:b pending", "t:c pending", "t:d pending"])
    // The outcome names an arming that is gone. It misses, and the words do not change.
    await rig.write([outcomeOf(timerIn(retried), delivered)])
    expect(await words()).toEqual(["c:b pending", "t:c pending", "t:d pending"])
    await rig.write([outcomeOf(timerIn(changed), delivered)])
    expect(await words()).toEqual(["c:b delivered", "t:c delivered", "t:d delivered"])
    expect(await Effect.runPromise(rig.store.prune(Number.MAX_SAFE_INTEGER, 100))).toBe(1)
    expect(await words()).toEqual([])
  })

  test("a create is unchanged if its spec is equal but in another order", async () => {
    await using rig = await setUp()
    const { target, retryPolicy } = sampleSpec
    const first = samplePut({ timerId: "same", spec: { target, retryPolicy } })
    const reordered = Object.fromEntries(Object.entries(retryPolicy).reverse()) as typeof retryPolicy
    const second = samplePut({ timerId: "same", spec: { retryPolicy: reordered, target: { ...target } } })
    const third = samplePut({
      timerId: "same",
      spec: { target, retryPolicy: { ...retryPolicy, maxAttempts: 11 } },
    })
    const answers = await rig.write([first, second, third])
    expect(answers.map(({ result }) => result)).toEqual(["created", "unchanged", "replaced"])
  })

  test("a change replaces the parts of the spec that it names, and null clears", async () => {
    await using rig = await setUp()
    const put = samplePut({ spec: { ...sampleSpec, expireAfterMs: 5_000 } })
    const retryPolicy = { ...sampleSpec.retryPolicy, maxAttempts: 1, jitter: 0.25 }
    const answers = await rig.write([
      put,
      changeOf(put.timer, { target: { type: "event" } }),
      changeOf(put.timer, { expireAfterMs: null, retryPolicy }),
      changeOf(put.timer, { expireAfterMs: 7 }),
    ])
    expect(answers.map((answer) => timerIn(answer).spec)).toEqual([
      put.timer.spec,
      { ...put.timer.spec, target: { type: "event" } },
      { target: { type: "event" }, retryPolicy },
      { target: { type: "event" }, retryPolicy, expireAfterMs: 7 },
    ])
    expect((await rig.find(put)).pending).toEqual(timerIn(at(answers, 3)))
  })

  test("a retry does not write a payload again that is stored out of line", async () => {
    await using rig = await setUp()
    const put = samplePut({ payload: crypto.getRandomValues(new Uint8Array(60_000)) })
    await rig.write([put])
    const sql = new Bun.SQL({ url: server().url, max: 1 })
    try {
      const outOfLine = async (): Promise<unknown> => {
        const [{ name }] = await sql.unsafe(
          `SELECT reltoastrelid::regclass::text AS name FROM pg_class WHERE oid = '${rig.schema}.timers'::regclass`,
        )
        return [
          ...(await sql.unsafe(
            `SELECT chunk_id, chunk_seq, xmin::text, ctid::text FROM ${name} ORDER BY 1, 2`,
          )),
        ]
      }
      const before = await outOfLine()
      expect(before).not.toEqual([])
      await rig.write([outcomeOf(put.timer, { to: "retry", fireAt: sampleNow + 99 })])
      expect(await outOfLine()).toEqual(before)
      expect((await rig.find(put)).pending?.payload).toEqual(put.timer.payload)
    } finally {
      await sql.close()
    }
  })

  test("writes of different shards run at the same time, and each counts its own", async () => {
    await using rig = await setUp()
    const batches = Array.from({ length: 30 }, () => Array.from({ length: 20 }, () => samplePut()))
    await Promise.all(batches.map((items) => rig.write(items)))
    expect(await Effect.runPromise(rig.store.tally)).toMatchObject({ created: 600 })
  })
})
