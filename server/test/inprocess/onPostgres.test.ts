// A program on PostgreSQL: one process, without a service. Its timers outlive it and fire by the system's clock. A
// second program on the same store is refused.
import { expect, test } from "bun:test"
import { Punctual, PunctualError, type TimerFire } from "@punctual/server"
import { oddPayload } from "../../testkit/oddPayload.ts"
import { describePostgres } from "../../testkit/PostgresBinaries.ts"
import { serverForTests } from "../../testkit/postgres.ts"

const namespace = "billing"

describePostgres("packaged", "a program on PostgreSQL", () => {
  const server = serverForTests("packaged")
  const open = (store: string) => Punctual.open({ store, shards: 4, payloads: "text", log: "none" })

  test("fires its timers, keeps payloads byte for byte, and offers every call", async () => {
    await using punctual = await open(server().database().url)
    const { promise, resolve } = Promise.withResolvers<TimerFire>()
    punctual.on(namespace, resolve)
    await punctual.create({ namespace, timerId: "a", delay: "5ms", payload: oddPayload })
    expect(await promise).toMatchObject({ timerId: "a", attempt: 1, payload: oddPayload })
    await punctual.create({ namespace, timerId: "b", delay: "1h", payload: oddPayload })
    expect((await punctual.get({ namespace, timerId: "b" })).timer.payload).toBe(oddPayload)
    expect(await punctual.cancelMany({ namespace, all: true })).toMatchObject({ cancelled: 1 })
    const { settings } = await punctual.namespaces.put({ namespace, maxPending: 5 })
    expect(settings.updatedAt).toBeInstanceOf(Date)
    const { node, shards } = await punctual.cluster()
    expect(shards.map(({ owner }) => owner)).toEqual([node, node, node, node])
  }, 60_000)

  test("finds its timers and its audit records again when it is opened again", async () => {
    const { url } = server().database()
    {
      await using punctual = await open(url)
      await punctual.create({ namespace, timerId: "a", delay: "1ms", payload: oddPayload })
      await punctual.namespaces.put({ namespace, maxPending: 5 })
    }
    await using punctual = await open(url)
    const { records } = await punctual.audit.list()
    expect(records).toMatchObject([{ action: "namespaces.put", caller: "program", after: { maxPending: 5 } }])
    const { promise, resolve } = Promise.withResolvers<TimerFire>()
    punctual.on(namespace, resolve)
    expect(await promise).toMatchObject({ timerId: "a", payload: oddPayload })
  }, 60_000)

  test("is refused while another program has the store, and says so", async () => {
    const { url } = server().database()
    await using first = await open(url)
    const { shards: before } = await first.cluster()
    const refused: unknown = await Punctual.open({
      store: url,
      shards: 4,
      openTimeout: "1s",
      log: "none",
    }).catch((error: unknown) => error)
    if (!(refused instanceof PunctualError)) throw new Error(`it was not refused: ${refused}`)
    expect(refused).toMatchObject({ code: "ownerUnavailable" })
    expect(refused.message).toContain(": close it first")
    // The second program took nothing in the meantime, because that would have raised an epoch.
    expect((await first.cluster()).shards.map(({ epoch }) => epoch)).toEqual(before.map(({ epoch }) => epoch))
    expect(await first.create({ namespace, timerId: "a", delay: "1h" })).toMatchObject({ result: "created" })
  }, 60_000)
})
