// Jobs on many timers over HTTP, on a real engine with a memory store: what they do, what they leave alone, and when a
// start is refused.
import { describe, expect, test } from "bun:test"
import { bulkJobsMax } from "@punctual/api/BulkJobs"
import { Effect } from "effect"
import type { Delivery } from "../../src/ports/Deliverer.ts"
import { eventually } from "../../testkit/eventually.ts"
import { type Answered, type RunningService, type ServiceOptions, withService } from "./ServiceFixture.ts"

const dies: Delivery = { kind: "dead", reason: "refused", error: "answered 410", status: 410 }
const arrives: Delivery = { kind: "delivered", status: 200 }

const outcomeOf = ({ status, json }: Answered): string => `${status} ${json?.code ?? "answered"}`

const timer = (namespace: string, timerId: string, delay = "0s") => ({
  namespace,
  timerId,
  delay,
  callbackUrl: "https://h.example/",
})

interface Receiver {
  /** What happens to timers that fire. */
  delivery: Delivery
}

const until = (what: string, isSo: () => Promise<boolean>) =>
  eventually(what, async () => ((await isSo()) ? true : undefined))

const countOf = async (service: RunningService, filter: object): Promise<number> =>
  (await service.call("count", filter)).json.count

/** A service with dead letters: as many as `dead` says in each namespace. */
const withDead = (
  dead: Readonly<Record<string, number>>,
  use: (service: RunningService, receiver: Receiver) => Promise<void>,
  options: ServiceOptions = {},
): Promise<void> => {
  const receiver: Receiver = { delivery: dies }
  return withService({ deliver: () => Effect.sync(() => receiver.delivery), ...options }, async (service) => {
    for (const [namespace, count] of Object.entries(dead)) {
      const timers = Array.from({ length: count }, (_, n) => timer(namespace, `t-${n}`))
      await service.call("createMany", { timers })
      await until(
        "they are dead",
        async () => (await countOf(service, { namespace, state: "dead" })) === count,
      )
    }
    await use(service, receiver)
  })
}

const metricOf = async (service: RunningService, metric: string): Promise<number> => {
  const lines = (await service.fetch("/metrics")).text.split("\n")
  return Number(
    lines
      .find((line) => line.startsWith(metric))
      ?.split(" ")
      .at(-1),
  )
}

const reason = "the receiver works again"

const start = async (service: RunningService, job: object): Promise<string> => {
  const started = await service.post("bulk/start", { reason, ...job })
  expect(started.json).toMatchObject({ job: { state: "running" } })
  return started.json.job.jobId
}

const jobOf = async (service: RunningService, jobId: string) =>
  (await service.post("bulk/get", { jobId })).json.job

const ended = async (service: RunningService, jobId: string) => {
  await until("the job has ended", async () => (await jobOf(service, jobId)).state !== "running")
  return jobOf(service, jobId)
}

describe("a job", () => {
  test("replays the dead letters of several namespaces, and no others", () =>
    withDead({ billing: 3, "team-a": 2, "team-b": 1, other: 2 }, async (service, receiver) => {
      receiver.delivery = arrives
      const filter = { namespaces: ["billing", "team-*"] }
      const job = await ended(service, await start(service, { do: "replay", filter, expect: 6 }))
      expect(job).toMatchObject({
        do: "replay",
        filter,
        reason,
        expect: 6,
        perSecond: 500,
        state: "done",
        startedBy: { caller: "anonymous" },
        done: { replayed: 6, skipped: 0 },
        examined: 6,
      })
      expect(Date.parse(job.finishedAt)).toBeGreaterThanOrEqual(Date.parse(job.startedAt))
      expect(await countOf(service, { namespaces: ["*"], state: "dead" })).toBe(2)
      await until(
        "all are delivered",
        async () => (await countOf(service, { namespaces: ["billing", "team-*"], state: "delivered" })) === 6,
      )
    }))

  // More than one step handles, so that a later step could find what the first one replayed.
  const many = { count: 300, perSecond: 1_000 }

  test("replays each dead letter once, although all die again at once", () =>
    withDead({ billing: many.count }, async (service) => {
      const filter = { namespace: "billing" }
      const asked = { do: "replay", filter, expect: many.count, perSecond: many.perSecond }
      const job = await ended(service, await start(service, asked))
      expect(job.done).toEqual({ replayed: many.count, skipped: 0 })
      await until(
        "all died again",
        async () => (await countOf(service, { ...filter, state: "dead" })) === many.count,
      )
    }))

  test("replays each dead letter once under a clock that stands still", () =>
    withDead(
      { billing: many.count },
      async (service) => {
        const filter = { namespaces: ["*"] }
        const asked = { do: "replay", filter, expect: many.count, perSecond: many.perSecond }
        const job = await ended(service, await start(service, asked))
        expect(job.done).toEqual({ replayed: many.count, skipped: 0 })
        expect(job.finishedAt).toBe(job.startedAt)
      },
      { clockStartMs: Date.parse("2030-01-01T00:00:00Z") },
    ))

  test("leaves dead letters alone that died after its start", () => {
    const { promise: started, resolve } = Promise.withResolvers<void>()
    const deliver = ({ timerId }: { readonly timerId: string }) =>
      timerId === "late"
        ? Effect.as(
            Effect.promise(() => started),
            dies,
          )
        : Effect.succeed(dies)
    return withDead(
      { billing: many.count },
      async (service) => {
        await service.call("create", timer("billing", "late"))
        const filter = { namespace: "billing" }
        const asked = { do: "discard", filter, expect: many.count, perSecond: many.perSecond }
        const jobId = await start(service, asked)
        const startedAtMs = Date.parse((await jobOf(service, jobId)).startedAt)
        // A job also takes dead letters that died in the millisecond of its start.
        await until("the millisecond of its start is over", () => Promise.resolve(Date.now() > startedAtMs))
        resolve()
        const job = await ended(service, jobId)
        expect(job.done).toEqual({ discarded: many.count, skipped: 0 })
        const { json } = await service.call("get", { namespace: "billing", timerId: "late" })
        expect(json.timer.state).toBe("dead")
      },
      { deliver },
    )
  })

  test("skips a dead letter whose id is pending, and goes on", () =>
    withDead({ billing: 3 }, async (service, receiver) => {
      receiver.delivery = arrives
      await service.call("create", timer("billing", "t-1", "1h"))
      const filter = { namespace: "billing", idPrefix: "t-" }
      const job = await ended(
        service,
        await start(service, { do: "replay", filter, expect: 3, perSecond: 1_000 }),
      )
      expect(job.done).toEqual({ replayed: 2, skipped: 1 })
      expect(await countOf(service, { namespace: "billing", state: "dead" })).toBe(1)
    }))

  test("discards the dead letters that a filter without an index selects", () =>
    withDead({ a: 3, b: 2 }, async (service) => {
      const filter = { namespaces: ["a", "b"], host: "h.example", error: "4xx" }
      const job = await ended(service, await start(service, { do: "discard", filter, expect: 5 }))
      expect(job).toMatchObject({ state: "done", done: { discarded: 5, skipped: 0 }, examined: 5 })
      expect(await countOf(service, { namespaces: ["*"], state: "dead" })).toBe(0)
    }))

  test("cancels pending timers, and leaves timers alone that were created after its start", () =>
    withService({}, async (service) => {
      const timers = Array.from({ length: 30 }, (_, n) => timer("billing", `t-${n}`, "1h"))
      await service.call("createMany", { timers })
      const filter = { namespace: "billing" }
      const jobId = await start(service, { do: "cancel", filter, expect: 30, perSecond: 100 })
      // Due after all others, so the job finds it at the end.
      await service.call("create", timer("billing", "late", "2h"))
      const job = await ended(service, jobId)
      expect(job.done).toEqual({ cancelled: 30, inFlight: 0, skipped: 0 })
      const { json } = await service.call("list", { namespace: "billing" })
      expect(json.timers.map(({ timerId }: { timerId: string }) => timerId)).toEqual(["late"])
    }))

  test("counts timers in flight, whose attempt it cannot stop", () => {
    const hanging = Effect.never
    return withService({ deliver: () => hanging }, async (service) => {
      await service.call("create", timer("billing", "t"))
      await until("it is in flight", async () => {
        const { json } = await service.call("get", { namespace: "billing", timerId: "t" })
        return json.timer.state === "inFlight"
      })
      const filter = { namespace: "billing" }
      const job = await ended(service, await start(service, { do: "cancel", filter, expect: 1 }))
      expect(job.done).toEqual({ cancelled: 0, inFlight: 1, skipped: 0 })
    })
  })

  test("is aborted once, and does no more", () =>
    withDead({ billing: 5 }, async (service) => {
      const filter = { namespace: "billing" }
      const jobId = await start(service, { do: "discard", filter, expect: 5, perSecond: 5 })
      const { json } = await service.post("bulk/abort", { jobId })
      expect(json.job).toMatchObject({ state: "aborted", finishedAt: expect.any(String) })
      await until("its last step is counted", async () => {
        const { done } = await jobOf(service, jobId)
        return done.discarded === 5 - (await countOf(service, { namespace: "billing", state: "dead" }))
      })
      const after = await jobOf(service, jobId)
      expect(after.done.discarded).toBeLessThanOrEqual(1)
      expect((await service.post("bulk/abort", { jobId })).json.job).toEqual(after)
    }))
})

describe("a start", () => {
  test("is refused if there are over 10 % more timers than expected, and starts nothing", () =>
    withDead({ billing: 22 }, async (service) => {
      const job = { do: "discard", filter: { namespace: "billing" }, reason }
      const refused = await service.post("bulk/start", { ...job, expect: 19 })
      expect(outcomeOf(refused)).toBe("409 countChanged")
      expect(refused.json.currentCount).toBe(22)
      expect((await service.post("bulk/list", {})).json).toEqual({ jobs: [] })
      expect((await ended(service, await start(service, { ...job, expect: 20 }))).done.discarded).toBe(22)
    }))

  test("is refused while as many jobs run as are allowed", () =>
    withDead({ billing: 50 }, async (service) => {
      const job = { do: "discard", filter: { namespace: "billing" }, reason, expect: 50, perSecond: 1 }
      const started = await Promise.all(
        Array.from({ length: bulkJobsMax + 3 }, () => service.post("bulk/start", job)),
      )
      const outcomes = started.map(outcomeOf)
      expect(outcomes.filter((outcome) => outcome === "200 answered").length).toBe(bulkJobsMax)
      const refused = started.filter(({ status }) => status !== 200)
      expect(refused.map(outcomeOf)).toEqual(Array(3).fill("429 quotaExceeded"))
      expect(refused[0]?.json).toMatchObject({ quota: "bulkJobs", written: "no" })
      const first = started.find(({ status }) => status === 200)
      await service.post("bulk/abort", { jobId: first?.json.job.jobId })
      expect(outcomeOf(await service.post("bulk/start", job))).toBe("200 answered")
    }))

  test("names what is wrong with it", () =>
    withService({}, async (service) => {
      const right = { do: "cancel", filter: { namespace: "billing" }, reason, expect: 0 }
      const wrong: ReadonlyArray<readonly [object, string]> = [
        [{ do: "delete" }, "/do"],
        [{ filter: {} }, "/filter/namespace"],
        [{ filter: { namespace: "a", namespaces: ["b"] } }, "/filter/namespaces"],
        [{ filter: { namespace: "a", state: "dead" } }, "/filter/state"],
        [{ filter: { namespace: "a", reason: "expired" } }, "/filter/reason"],
        [{ reason: "" }, "/reason"],
        [{ reason: "x".repeat(501) }, "/reason"],
        [{ perSecond: 0 }, "/perSecond"],
        [{ perSecond: 5_001 }, "/perSecond"],
        [{ expect: -1 }, "/expect"],
      ]
      for (const [change, pointer] of wrong) {
        const { json } = await service.post("bulk/start", { ...right, ...change })
        expect([change, json.code, json.errors?.[0]?.pointer]).toEqual([change, "invalidRequest", pointer])
      }
      for (const field of ["do", "filter", "reason", "expect"]) {
        const { [field]: _, ...rest } = { ...right } as Record<string, unknown>
        expect(outcomeOf(await service.post("bulk/start", rest))).toBe("400 invalidRequest")
      }
    }))
})

test("a list has the newest jobs first, running or not, page by page, and a job that does not exist is 404", () =>
  withDead({ billing: 3 }, async (service) => {
    const made: Array<string> = []
    for (let n = 0; n < 5; n++) {
      const isSlow = n === 1 || n === 4
      const filter = { namespace: isSlow ? "billing" : "none" }
      const jobId = await start(service, {
        do: "discard",
        filter,
        expect: 3,
        ...(isSlow ? { perSecond: 1 } : {}),
      })
      if (!isSlow) await ended(service, jobId)
      made.push(jobId)
    }
    for (const limit of [1, 2, 3, 5, 100]) {
      const listed: Array<string> = []
      let cursor: string | undefined
      do {
        const { json } = await service.post("bulk/list", { limit, ...(cursor && { cursor }) })
        expect(json.jobs.length).toBeLessThanOrEqual(limit)
        listed.push(...json.jobs.map(({ jobId }: { jobId: string }) => jobId))
        cursor = json.nextCursor
      } while (cursor !== undefined)
      expect([limit, listed]).toEqual([limit, made.toReversed()])
    }
    expect(outcomeOf(await service.post("bulk/list", { cursor: "x" }))).toBe("400 invalidRequest")
    const jobId = "01b8d832-8600-7000-8000-5d1f0c2ab9e4"
    for (const call of ["bulk/get", "bulk/abort"] as const)
      expect(outcomeOf(await service.post(call, { jobId }))).toBe("404 jobNotFound")
  }))

test("the start, the abort and the end of a job leave audit records, with the reason and the count, and metrics", () =>
  withDead({ billing: 3 }, async (service) => {
    // Services of one process share their metrics.
    const counted = [
      'timer_bulk_jobs_ended_total{state="done"}',
      'timer_bulk_timers_total{result="discarded"}',
    ]
    const before = await Promise.all(counted.map((metric) => metricOf(service, metric)))
    const filter = { namespace: "billing" }
    const jobId = await start(service, { do: "discard", filter, expect: 3 })
    await ended(service, jobId)
    for (const timerId of ["a", "b"]) await service.call("create", timer("billing", timerId, "1h"))
    const aborted = await start(service, { do: "cancel", filter, expect: 2, perSecond: 1 })
    await service.post("bulk/abort", { jobId: aborted })
    await until("the end is recorded", async () => {
      const { json } = await service.post("audit/list", { action: "bulk.end" })
      return json.records?.length > 0
    })
    const { json } = await service.post("audit/list", { action: "bulk" })
    const records = json.records.filter(({ about }: { about: { jobId: string } }) => about.jobId === jobId)
    expect(records).toMatchObject([
      { action: "bulk.end", caller: "anonymous", about: { do: "discard", state: "done" }, count: 3 },
      { action: "bulk.start", caller: "anonymous", about: { do: "discard", filter, reason, expect: 3 } },
    ])
    expect(json.records.map(({ action }: { action: string }) => action)).toContain("bulk.abort")
    const after = await Promise.all(counted.map((metric) => metricOf(service, metric)))
    expect(after.map((value, index) => value - (before[index] ?? 0))).toEqual([1, 3])
  }))
