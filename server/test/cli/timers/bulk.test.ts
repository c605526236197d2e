// `punctual bulk`: what operators can do with jobs on many timers, and the requests that the service gets for it.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { withService } from "../../http/ServiceFixture.ts"
import { requestsTo, run, serviceThatAnswers } from "../CommandFixture.ts"

const bulk = (url: string, ...args: ReadonlyArray<string>) => run(["bulk", ...args], { environmentUrl: url })

const jobId = "01b8d832-8600-7000-8000-5d1f0c2ab9e4"

const job = {
  jobId,
  do: "replay",
  filter: { namespaces: ["billing", "team-*"], host: "h.example", minLateness: "1m30s" },
  reason: "works again",
  perSecond: 500,
  expect: 1_234,
  state: "done",
  startedBy: { caller: "anna", keyId: "7sKq20XbnR" },
  startedAt: "2030-01-01T00:00:00.000Z",
  finishedAt: "2030-01-01T00:00:05.000Z",
  done: { replayed: 1_234, skipped: 0 },
  examined: 1_300,
}

/** A service with 2 matching timers. It answers calls about jobs with these jobs in turn, and then with the last one. */
const serviceWith = (...jobs: ReadonlyArray<object>) => {
  let answered = 0
  return serviceThatAnswers(({ path }) => {
    if (path.endsWith("/timers/count")) return { body: { count: 2, capped: false } }
    if (path.endsWith("/timers/list")) return { body: { timers: [] } }
    if (path.endsWith("/bulk/list")) return { body: { jobs } }
    return { body: { job: jobs[Math.min(answered++, jobs.length - 1)] } }
  })
}

const why = ["--why", "works again"]

describe("bulk start", () => {
  test("without --yes shows what would be done, and starts nothing", async () => {
    const deliver = () =>
      Effect.succeed<Delivery>({ kind: "dead", reason: "refused", error: "gone", status: 410 })
    await withService({ deliver }, async (service) => {
      const timers = Array.from({ length: 22 }, (_, n) => ({
        namespace: "billing",
        timerId: `t-${n}`,
        delay: "0s",
        callbackUrl: "https://h.example/",
      }))
      await service.call("createMany", { timers })
      await eventually("they are dead", async () => {
        const { json } = await service.call("count", { namespace: "billing", state: "dead" })
        return json.count === 22 ? true : undefined
      })
      const { exitCode, out, err } = await bulk(service.url, "start", "replay", "billing", ...why)
      expect(exitCode).toBe(1)
      expect(out).toEndWith("\nThe job would replay 22 timers. Above are the first 20.\n")
      expect(out.split("\n").filter((line) => line.startsWith("t-")).length).toBe(20)
      expect(err).toBe("punctual bulk start: nothing was started. To start the job, add --yes --expect 22\n")
      const json = await bulk(service.url, "start", "replay", "billing", ...why, "--json")
      expect(JSON.parse(json.out)).toMatchObject({ do: "replay", count: 22, capped: false })
      expect((await service.post("bulk/list", {})).json).toEqual({ jobs: [] })
      const done = await bulk(service.url, "start", "discard", "billing", ...why, "--yes", "--json")
      expect([done.exitCode, JSON.parse(done.out).job]).toMatchObject([
        0,
        { state: "done", done: { discarded: 22 } },
      ])
    })
  })

  test("sends the filter, the reason, the pace, and the count that it saw or that the user names", async () => {
    const filtered = ["--host", "h.example", "--error", "5xx", "--reason", "expired", "--per-second", "10"]
    const calls = [
      [["cancel", "billing"], { do: "cancel", filter: { namespace: "billing" }, expect: 2 }],
      [["discard", "*"], { do: "discard", filter: { namespaces: ["*"] }, expect: 2 }],
      [
        ["replay", "billing,team-*", ...filtered, "--expect", "7"],
        {
          do: "replay",
          filter: { namespaces: ["billing", "team-*"], host: "h.example", reason: "expired", error: "5xx" },
          perSecond: 10,
          expect: 7,
        },
      ],
    ] as const
    for (const [args, fields] of calls) {
      await using service = await serviceWith(job)
      expect((await bulk(service.url, "start", ...args, ...why, "--yes")).exitCode).toBe(0)
      const [counted, started] = requestsTo(service)
      expect(counted).toEqual([
        "/timers/count",
        { ...fields.filter, state: fields.do === "cancel" ? "pending" : "dead" },
      ])
      expect(started).toEqual(["/bulk/start", { reason: "works again", ...fields }])
    }
  })

  test("shows the progress and the result, and ends with 1 if the job did not do everything", async () => {
    const running = { ...job, state: "running", done: { replayed: 600, skipped: 0 }, problem: "It waits." }
    await using service = await serviceWith(running, running, job)
    const { exitCode, out, err } = await bulk(service.url, "start", "replay", "billing", ...why, "--yes")
    expect([exitCode, err]).toEqual([
      0,
      `The job ${jobId} has started. To stop it: punctual bulk abort ${jobId}\n600 replayed, 0 skipped … (It waits.)\n`,
    ])
    expect(out).toContain("done           1234 replayed, 0 skipped\n")
    const others = [
      [{ state: "aborted" }, "the job is aborted."],
      [{ state: "failed", problem: "The key is gone." }, "the job is failed: The key is gone."],
      [{ done: { replayed: 1, skipped: 2 } }, "2 timers skipped: they stay as they are."],
    ] as const
    for (const [change, told] of others) {
      await using other = await serviceWith({ ...job, ...change })
      const ended = await bulk(other.url, "start", "replay", "billing", ...why, "--yes")
      expect([ended.exitCode, ended.err]).toEqual([1, expect.stringContaining(told)])
    }
  })

  test("with --detach does not wait", async () => {
    await using service = await serviceWith({ ...job, state: "running" })
    const { exitCode, out, err } = await bulk(
      service.url,
      ...["start", "replay", "billing", ...why, "--yes", "--detach"],
    )
    expect([exitCode, err]).toEqual([0, ""])
    expect(out).toContain(`job            ${jobId}\n`)
  })

  test("needs a reason of its own, and a filter that fits", async () => {
    const wrong = [
      [["replay", "billing"], "why"],
      [["move", "billing", ...why], "move"],
      [["cancel", "billing", ...why, "--reason", "expired"], "--reason is only for dead letters"],
      [["replay", "billing", ...why, "--per-second", "0"], "per-second"],
    ] as const
    for (const [args, told] of wrong) {
      const { exitCode, err } = await bulk("http://127.0.0.1:9", "start", ...args)
      expect([args, exitCode, err]).toEqual([args, 2, expect.stringContaining(told)])
    }
  })
})

test("bulk get, list and abort show jobs for people and for programs", async () => {
  await using service = await serviceWith(job)
  const { out } = await bulk(service.url, "get", jobId)
  expect(out).toContain("namespaces     billing,team-*\nfilter         host h.example, minLateness 1m30s\n")
  expect(out).toContain("started by     anna (7sKq20XbnR)\n")
  expect(out).toContain("expected       1,234\n")
  expect(JSON.parse((await bulk(service.url, "get", jobId, "--wait", "--json")).out)).toEqual({ job })
  expect((await bulk(service.url, "list")).out).toContain(`${jobId}  replay  done   2030-01-01T00:00:00.000Z`)
  expect(JSON.parse((await bulk(service.url, "list", "--all", "--json")).out)).toEqual(job)
  expect((await bulk(service.url, "abort", jobId, "--json")).exitCode).toBe(0)
  expect(requestsTo(service).at(-1)).toEqual(["/bulk/abort", { jobId }])
})

test("bulk get says what became of the timers that the job replayed", async () => {
  let isGone = true
  const deliver = () =>
    Effect.sync(
      (): Delivery =>
        isGone ? { kind: "dead", reason: "refused", error: "gone", status: 410 } : { kind: "delivered" },
    )
  await withService({ deliver }, async (service) => {
    const timers = ["a", "b"].map((timerId) => ({
      namespace: "billing",
      timerId,
      delay: "0s",
      callbackUrl: "https://h.example/",
    }))
    const untilCounted = (state: string, count: number) =>
      eventually(`${count} are ${state}`, async () => {
        const { json } = await service.call("count", { namespace: "billing", state })
        return json.count === count ? true : undefined
      })
    const replay = async (...filter: ReadonlyArray<string>) => {
      const args = ["start", "replay", "billing", ...filter, ...why, "--yes", "--json"]
      return JSON.parse((await bulk(service.url, ...args)).out).job.jobId
    }
    await service.call("createMany", { timers })
    await untilCounted("dead", 2)
    isGone = false
    const first = await replay("--id-prefix", "a")
    await untilCounted("delivered", 1)
    expect((await bulk(service.url, "get", first)).out).toContain(
      "\nsince then     1 delivered, 0 pending, 0 dead again\n",
    )
    isGone = true
    const second = await replay("--id-prefix", "b")
    await eventually("it died again", async () => {
      const { out } = await bulk(service.url, "get", second)
      return out.includes("\nsince then     0 delivered, 0 pending, 1 dead again\n") ? true : undefined
    })
  })
})
