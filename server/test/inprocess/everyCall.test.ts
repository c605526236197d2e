// A program can do everything that the API can: each call, in the API's words, with Dates for instants.
import { describe, expect, test } from "bun:test"
import { contractEndpoints } from "@punctual/api/contractEndpoints"
import { defaultLimits } from "@punctual/api/Limits"
import { Punctual, PunctualError, type PunctualOptions, type TimerFire } from "@punctual/server"
import { eventually } from "../../testkit/eventually.ts"
import { oddPayload } from "../../testkit/oddPayload.ts"

const start = "2030-01-01T00:00:00.000Z"
const after = (hours: number) => new Date(Date.parse(start) + hours * 3_600_000)
const namespace = "billing"

const openManual = (more: Partial<PunctualOptions> = {}) =>
  Punctual.open({ store: "memory:", clock: `manual:${start}`, log: "none", ...more })

const refusalOf = async (call: Promise<unknown>): Promise<PunctualError> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof PunctualError)) throw new Error(`it was not refused: ${error}`)
  return error
}

/** The method of a program for a call, where its name differs from the group and the name of the API. */
const otherNames: Readonly<Record<string, string>> = {
  "timers.delete": "cancel",
  "timers.deleteMany": "cancelMany",
  "cluster.cluster": "cluster",
  "clock.advance": "advance",
}

/** A program has no bus of its own, so it has no messages either. It is trusted, so it needs neither keys nor sessions. */
const isOffered = (group: string): boolean => !["messages", "keys", "sessions"].includes(group)

test("there is a method for every call of the API", async () => {
  await using punctual = await openManual()
  const { namespaces, service, breakers, egress, audit, bulk } = punctual
  const offered: Readonly<Record<string, object>> = {
    timers: punctual,
    namespaces,
    service,
    breakers,
    egress,
    audit,
    bulk,
  }
  const endpoints = contractEndpoints(defaultLimits).filter(({ group }) => isOffered(group))
  expect(endpoints.length).toBeGreaterThan(15)
  for (const { group, name } of endpoints) {
    const method = Reflect.get(offered[group] ?? punctual, otherNames[`${group}.${name}`] ?? name)
    expect([group, name, typeof method]).toEqual([group, name, "function"])
  }
})

describe("calls about many timers", () => {
  const three = (punctual: Punctual) =>
    punctual.createMany(
      ["a-1", "a-2", "b-1"].map((timerId, index) => ({ namespace, timerId, executeAt: after(index + 1) })),
    )

  test("count the timers that a filter selects", async () => {
    await using punctual = await openManual()
    await three(punctual)
    expect(await punctual.count({ namespace })).toEqual({ count: 3, capped: false })
    expect(await punctual.count({ namespace, from: after(2), until: after(3) })).toEqual({
      count: 1,
      capped: false,
    })
    expect((await refusalOf(punctual.count({ namespace, until: new Date(Number.NaN) }))).errors).toEqual([
      { pointer: "/until", detail: expect.any(String) },
    ])
  })

  test("count by time, and show the lives of a key, with Dates", async () => {
    await using punctual = await openManual()
    await three(punctual)
    const filter = { namespace, from: after(1), until: after(5) }
    expect(await punctual.histogram({ filter, buckets: 2 })).toEqual({
      from: after(1),
      until: after(5),
      counts: [2, 1],
      total: 3,
      estimated: false,
      asOf: after(0),
    })
    await punctual.cancel({ namespace, timerId: "a-1" })
    await punctual.create({ namespace, timerId: "a-1", executeAt: after(9), payload: { n: 1 } })
    const { lives } = await punctual.lives({ namespace, timerId: "a-1" })
    expect(lives).toMatchObject([
      { state: "pending", fireAt: after(9), payload: { n: 1 } },
      { state: "cancelled", executeAt: after(1) },
    ])
  })

  test("cancel the timers that a filter selects, and none by an empty filter", async () => {
    await using punctual = await openManual()
    await three(punctual)
    expect(await refusalOf(punctual.cancelMany({ namespace, filter: {} }))).toMatchObject({
      code: "invalidRequest",
    })
    expect(await punctual.cancelMany({ namespace, filter: { from: after(2), until: after(3) } })).toEqual({
      cancelled: 1,
      inFlight: 0,
    })
    expect(await punctual.cancelMany({ namespace, all: true })).toEqual({ cancelled: 2, inFlight: 0 })
    expect(await punctual.advance({ by: "1d" })).toMatchObject({ fired: 0 })
  })

  test("page through a list by its cursor, with payloads if asked", async () => {
    await using punctual = await openManual()
    await three(punctual)
    await punctual.update({ namespace, timerId: "a-1", payload: { n: 1 } })
    const first = await punctual.list({ namespace, limit: 2, include: ["payload"] })
    expect(first.timers.map(({ timerId, payload }) => [timerId, payload])).toEqual([
      ["a-1", { n: 1 }],
      ["a-2", undefined],
    ])
    const { nextCursor: cursor = "" } = first
    const second = await punctual.list({ namespace, limit: 2, include: ["payload"], cursor })
    expect(second.timers.map(({ timerId }) => timerId)).toEqual(["b-1"])
    expect(second).not.toHaveProperty("nextCursor")
    const byHost = { namespaces: ["*"], states: ["pending", "dead"], host: "example.com" } as const
    expect(await punctual.list(byHost)).toEqual({ timers: [], examined: 3 })
    expect(await punctual.count(byHost)).toEqual({ count: 0, capped: false, examined: 3 })
    const { errors } = await refusalOf(punctual.list({ namespaces: ["*"], state: "delivered" }))
    expect(errors).toMatchObject([{ pointer: "/state" }])
  })

  test("replay dead letters, and discard them", async () => {
    await using punctual = await openManual()
    let fails = true
    punctual.on(namespace, () => {
      if (fails) throw new Error("no")
    })
    for (const timerId of ["a", "b"]) {
      await punctual.create({ namespace, timerId, delay: "1h", retryPolicy: { maxAttempts: 1 } })
    }
    expect(await punctual.advance({ by: "1h" })).toEqual({ now: after(1), fired: 2 })
    fails = false
    expect(await punctual.replay({ namespace, all: true, dryRun: true })).toEqual({ replayed: 2, skipped: 0 })
    expect(await punctual.replay({ namespace, timerId: "a" })).toEqual({ replayed: 1, skipped: 0 })
    expect(await punctual.advance({ by: "1h" })).toMatchObject({ fired: 1 })
    expect((await punctual.get({ namespace, timerId: "a" })).timer).toMatchObject({ state: "delivered" })
    expect(await punctual.discard({ namespace, filter: { until: after(2) } })).toEqual({ discarded: 1 })
    expect(await refusalOf(punctual.discard({ namespace, timerId: "b" }))).toMatchObject({
      code: "timerNotFound",
    })
  })
})

test("a job on many timers runs in the program, with Dates, and is aborted there", async () => {
  await using punctual = await openManual()
  for (const timerId of ["a", "b"]) await punctual.create({ namespace, timerId, executeAt: after(5) })
  await punctual.create({ namespace, timerId: "c", executeAt: after(50) })
  const { job: started } = await punctual.bulk.start({
    do: "cancel",
    filter: { namespace, until: after(10) },
    reason: "no longer needed",
    expect: 2,
  })
  expect(started).toMatchObject({ startedAt: new Date(start), startedBy: { caller: "program" } })
  const { jobId } = started
  const job = await eventually("it is done", async () => {
    const found = await punctual.bulk.get({ jobId })
    return found.job.state === "running" ? undefined : found.job
  })
  expect(job).toMatchObject({ state: "done", finishedAt: new Date(start), done: { cancelled: 2 } })
  expect(await punctual.bulk.list()).toEqual({ jobs: [job] })
  expect(await punctual.bulk.abort({ jobId })).toEqual({ job })
  expect(await punctual.count({ namespace })).toEqual({ count: 1, capped: false })
})

describe("operator calls", () => {
  test("set, show and list the settings of namespaces", async () => {
    await using punctual = await openManual()
    await punctual.create({ namespace: "another", timerId: "a", delay: "1h" })
    const { settings } = await punctual.namespaces.put({
      namespace,
      maxPending: 1,
      retryPolicy: { initialInterval: "90s" },
    })
    expect(settings).toMatchObject({
      namespace,
      maxPending: 1,
      retryPolicy: { initialInterval: "1m30s" },
      paused: false,
      updatedAt: after(0),
    })
    await punctual.create({ namespace, delay: "1h" })
    expect(await refusalOf(punctual.create({ namespace, delay: "1h" }))).toMatchObject({
      code: "quotaExceeded",
      quota: "maxPending",
    })
    expect((await punctual.namespaces.get({ namespace })).settings).toEqual({
      ...settings,
      pending: { count: 1, capped: false },
      dead: { count: 0, capped: false },
    })
    const first = await punctual.namespaces.list({ limit: 1 })
    expect(first.namespaces.map((one) => one.namespace)).toEqual(["another"])
    const { nextCursor: cursor = "" } = first
    const { namespaces } = await punctual.namespaces.list({ cursor })
    expect(namespaces.map((one) => one.namespace)).toEqual([namespace])
  })

  test("pause a namespace and resume it", async () => {
    await using punctual = await openManual()
    punctual.on(namespace, () => {})
    const paused = await punctual.namespaces.pause({ namespace })
    expect(paused.settings).toMatchObject({ paused: true, pausedSince: after(0) })
    await punctual.create({ namespace, delay: "1h" })
    expect(await punctual.advance({ by: "2h" })).toMatchObject({ fired: 0 })
    expect((await punctual.namespaces.resume({ namespace })).settings).not.toHaveProperty("pausedSince")
    expect(await punctual.advance({ by: "0s" })).toMatchObject({ fired: 1 })
  })

  test("pause all firing and resume it", async () => {
    await using punctual = await openManual()
    punctual.on(namespace, () => {})
    expect(await punctual.service.pause({ reason: "a move" })).toEqual({
      now: after(0),
      pause: { since: after(0), kind: "asked", reason: "a move" },
    })
    await punctual.create({ namespace, delay: "1h" })
    expect(await punctual.advance({ by: "2h" })).toMatchObject({ fired: 0 })
    expect((await punctual.service.get()).pause?.since).toEqual(after(0))
    expect(await punctual.service.resume()).toEqual({ now: after(2) })
    expect(await punctual.advance({ by: "0s" })).toMatchObject({ fired: 1 })
  })

  test("check a URL by the egress rules, and a create that they refuse fails", async () => {
    await using punctual = await openManual({ egress: "public,host:billing" })
    expect(await punctual.egress.check({ url: "http://127.0.0.1:9000/" })).toMatchObject({
      allowed: false,
      addresses: [{ address: "127.0.0.1", allowed: false }],
    })
    const refused = punctual.create({ namespace, delay: "1h", callbackUrl: "http://localhost/hook" })
    expect(await refusalOf(refused)).toMatchObject({ code: "egressRefused" })
    expect(await punctual.count({ namespace })).toMatchObject({ count: 0 })
    await punctual.create({ namespace, delay: "1h", callbackUrl: "http://billing/hook" })
  })

  test("show open breakers, and close them", async () => {
    // A manual clock waits for no breaker, so this test uses the system's clock.
    await using punctual = await Punctual.open({ store: "memory:", log: "none" })
    // Nothing listens on this port, and ten failures in a row open the breaker.
    const callbackUrl = "http://127.0.0.1:1/hook"
    await punctual.createMany(
      Array.from({ length: 12 }, () => ({ namespace, executeAt: after(-1e5), callbackUrl })),
    )
    const open = await eventually("a breaker is open", async () => {
      const { breakers } = await punctual.breakers.list()
      return breakers.length > 0 ? breakers : undefined
    })
    expect(open).toMatchObject([{ host: "127.0.0.1:1", namespace }])
    expect(await punctual.breakers.reset({ host: "127.0.0.1:1" })).toMatchObject({ reset: 1 })
    expect(await punctual.breakers.reset({ host: "elsewhere" })).toMatchObject({ reset: 0 })
  })

  test("are recorded as calls of the program, with Dates, and in the order newest first", async () => {
    await using punctual = await openManual()
    await punctual.service.pause({ reason: "a move" })
    await punctual.advance({ by: "1h" })
    await punctual.cancelMany({ namespace, all: true })
    const { records } = await punctual.audit.list({ since: after(0) })
    expect(records.map(({ at, action, caller }) => [at, action, caller])).toEqual([
      [after(1), "timers.deleteMany", "program"],
      [after(1), "clock.advance", "program"],
      [after(0), "service.pause", "program"],
    ])
    expect(records[2]?.after).toEqual({ paused: true, since: start, kind: "asked", reason: "a move" })
    expect(records[0]).not.toHaveProperty("address")
    const { records: old } = await punctual.audit.list({ until: after(1), limit: 5 })
    expect(old.length).toBe(1)
  })

  test("show the shards and their owners", async () => {
    await using punctual = await openManual({ shards: 3 })
    const { node, nodes, shards } = await punctual.cluster()
    expect(nodes.map((one) => one.node)).toEqual([node])
    expect(shards.map(({ shard, owner }) => [shard, owner])).toEqual([
      [0, node],
      [1, node],
      [2, node],
    ])
  })
})

describe("a Punctual that was opened with payloads: text", () => {
  test("keeps payloads byte for byte, and gives them to handlers as text", async () => {
    await using punctual = await openManual({ payloads: "text" })
    const seen: Array<[unknown, Date]> = []
    punctual.on(namespace, ({ payload, firedAt }: TimerFire) => {
      seen.push([payload, firedAt])
      return seen.length === 1 ? { nextDelay: "1h", payload: `[${oddPayload} ]` } : undefined
    })
    const key = { namespace, timerId: "a" }
    await punctual.create({ ...key, delay: "1h", payload: oddPayload })
    await punctual.createMany([{ namespace: "many", timerId: "b", delay: "9d", payload: `${oddPayload}\n` }])
    expect((await punctual.get(key)).timer.payload).toBe(oddPayload)
    expect((await punctual.get({ namespace: "many", timerId: "b" })).timer.payload).toBe(`${oddPayload}\n`)
    await punctual.advance({ by: "3h" })
    expect(seen).toEqual([
      [oddPayload, after(1)],
      [`[${oddPayload} ]`, after(2)],
    ])
    await punctual.update({ namespace: "many", timerId: "b", payload: " 1.0" })
    const { timers } = await punctual.list({ namespace: "many", include: ["payload"] })
    expect(timers.map(({ payload }) => payload)).toEqual([" 1.0"])
    await punctual.update({ namespace: "many", timerId: "b", payload: null })
    expect((await punctual.get({ namespace: "many", timerId: "b" })).timer).not.toHaveProperty("payload")
  })

  test("refuses payloads that are not JSON text, and says where", async () => {
    await using punctual = await openManual({ payloads: "text" })
    for (const payload of ["{", "", { a: 1 }, 1, '"\ud800"']) {
      const { errors } = await refusalOf(punctual.create({ namespace, delay: "1h", payload }))
      expect(errors).toEqual([{ pointer: "/payload", detail: expect.stringContaining("must be JSON text") }])
    }
    const many = punctual.createMany([
      { namespace, delay: "1h" },
      { namespace, delay: "1h", payload: "{" },
    ])
    expect((await refusalOf(many)).errors?.map(({ pointer }) => pointer)).toEqual(["/timers/1/payload"])
    expect(await punctual.count({ namespace })).toMatchObject({ count: 0 })
    const { errors } = await refusalOf(openManual({ payloads: "bytes" as "text" }))
    expect(errors).toEqual([{ pointer: "/payloads", detail: "must be value or text" }])
  })
})
