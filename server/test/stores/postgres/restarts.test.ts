// A database that is killed, restarted, or unreachable for a while. No answered write is lost, every call ends within
// its time limit, and the store continues by itself when the database is back.
import { expect, test } from "bun:test"
import { type Effect, ManagedRuntime } from "effect"
import { PostgresStore } from "../../../src/stores/postgres/PostgresStore.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { describePostgres } from "../../../testkit/PostgresBinaries.ts"
import { PostgresServer } from "../../../testkit/PostgresServer.ts"
import { at, owned } from "../../../testkit/StoreFixture.ts"
import { TcpProxy } from "../../../testkit/TcpProxy.ts"
import { delivered, outcomeOf, samplePut } from "../../../testkit/timers.ts"

describePostgres("installed", "a PostgreSQL store", () => {
  const storeAt = async (url: string) => {
    const runtime = ManagedRuntime.make(PostgresStore.layer({ url, shards: 1, connections: 4 }))
    const { store, epochs, leases, batchOf } = await runtime.runPromise(owned)
    return {
      store,
      leases,
      batchOf,
      epoch: at(epochs, 0),
      run: <A, E>(effect: Effect.Effect<A, E>) => runtime.runPromise(effect),
      [Symbol.asyncDispose]: () => runtime.dispose(),
    }
  }

  test("finds every answered write after the database was killed, and continues without being opened again", async () => {
    await using server = await PostgresServer.start("installed")
    await using rig = await storeAt(server.database().url)
    const { store, batchOf, run } = rig
    const puts = Array.from({ length: 50 }, () => samplePut({ payload: new Uint8Array(5_000).fill(7) }))
    await run(store.write([batchOf(0, puts)]))
    await run(store.write([batchOf(0, [outcomeOf(at(puts, 0).timer, delivered)])]))
    await server.kill9()
    const down = await run(store.write([batchOf(0, [samplePut()])])).then(
      () => "written",
      (error: { isFatal: boolean }) => `fatal: ${error.isFatal}`,
    )
    expect(down).toBe("fatal: false")
    await server.restart()
    const later = samplePut()
    const items = [...puts.slice(1), later]
    await eventually("the store writes again", async () => {
      const repeated = await run(store.write([batchOf(0, items)])).catch(() => undefined)
      const answers = repeated?.flatMap((batch) => (batch.result === "written" ? batch.answers : []))
      // The answered items are stored already, so the same items get the same answers again.
      return answers?.every(({ result }) => result === "created") ? true : undefined
    })
    expect((await run(store.find(at(puts, 0).timer))).last?.state).toBe("delivered")
    for (const { timer } of puts.slice(1)) expect((await run(store.find(timer))).pending).toEqual(timer)
    expect(await run(store.tally)).toMatchObject({ created: 51, delivered: 1 })
  }, 30_000)

  test("reads through a restart, because a read can be repeated", async () => {
    await using server = await PostgresServer.start("installed")
    await using rig = await storeAt(server.database().url)
    const { store, batchOf, run } = rig
    const { timer } = samplePut()
    await run(store.write([batchOf(0, [samplePut({ timerId: timer.timerId })])]))
    await run(store.find(timer))
    await server.restart()
    expect((await run(store.find(timer))).pending?.timerId).toBe(timer.timerId)
    expect((await run(rig.leases.owners)).length).toBe(1)
  }, 30_000)

  test("ends every call within its time limit when answers stop, and recovers when they come again", async () => {
    await using server = await PostgresServer.start("installed")
    await using proxy = await TcpProxy.before({ host: server.host, port: server.port })
    await using rig = await storeAt(`postgres://postgres@${proxy.address}/postgres`)
    const { store, leases, epoch, batchOf, run } = rig
    const put = samplePut()
    proxy.blackholeFromServer()
    const calls = [
      run(store.write([batchOf(0, [put])])),
      run(store.insertIfAbsent(0, [samplePut()])),
      run(leases.renew([{ shard: 0, epoch }])),
    ]
    // Without a time limit they would never end.
    const ends = await Promise.allSettled(calls)
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"])
    proxy.cut()
    proxy.heal()
    // The write had arrived and its answer was lost. The same write gets the answer now.
    const again = await run(store.write([batchOf(0, [put])]))
    expect(again).toEqual([{ result: "written", answers: [{ result: "created", timer: put.timer }] }])
    expect((await run(store.tally)).created).toBeLessThanOrEqual(2)
    expect(await run(leases.renew([{ shard: 0, epoch }]))).toHaveLength(1)
  }, 30_000)

  test("reports once that its schema is gone, and answers nothing after that", async () => {
    await using server = await PostgresServer.start("installed")
    const { url, schema } = server.database()
    const told: Array<string> = []
    const runtime = ManagedRuntime.make(
      PostgresStore.layer({ url, shards: 1, onFatal: (message) => told.push(message) }),
    )
    try {
      const { store } = await runtime.runPromise(owned)
      const sql = new Bun.SQL({ url: server.url, max: 1 })
      await sql.unsafe(`DROP SCHEMA ${schema} CASCADE`)
      await sql.close()
      for (let time = 0; time < 2; time++) {
        const error = await runtime.runPromise(store.tally).catch((failure: unknown) => failure)
        expect(error).toMatchObject({ _tag: "StoreError", isFatal: true })
      }
      expect(told).toHaveLength(1)
    } finally {
      await runtime.dispose()
    }
  }, 30_000)
})
