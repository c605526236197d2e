// `punctual dead`: what operators can do with dead letters, and the requests that the service gets for it.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { withService } from "../../http/ServiceFixture.ts"
import { requestsTo, rowsOf, run, serviceThatAnswers } from "../CommandFixture.ts"

const dead = (url: string, ...args: ReadonlyArray<string>) => run(["dead", ...args], { environmentUrl: url })

const now = "2030-01-01T00:00:00.000Z"
/** The bound for dead letters that exist at `now`. */
const untilNow = "2030-01-01T00:00:00.001Z"

/** A service with this many dead letters. It answers each replay or discard with the next of these answers. */
const serviceWith = (count: number, answers: ReadonlyArray<object>, capped = false) => {
  let answered = 0
  return serviceThatAnswers(({ path }) => {
    if (path.endsWith("/service/get")) return { body: { now } }
    if (path.endsWith("/timers/count")) return { body: { count, capped } }
    return { body: answers[answered++] ?? { replayed: -1 } }
  })
}

/** The replays and discards that a service got. */
const disposals = (service: Parameters<typeof requestsTo>[0]) =>
  requestsTo(service).flatMap(([path, fields]) => (/replay|discard/.test(path) ? [fields] : []))

describe("dead replay", () => {
  test("replays one, those that match, or all, but only those that are dead when it begins", async () => {
    const calls = [
      [["invoice-1"], { timerId: "invoice-1" }],
      [
        ["--from", "2029-01-01T00:00:00Z", "--correlation-id", "c"],
        { filter: { from: "2029-01-01T00:00:00Z", until: untilNow, correlationId: "c" } },
      ],
      [["--tag", "trial"], { filter: { until: untilNow, tag: "trial" } }],
      [["--until", "2029-01-01T00:00:00Z"], { filter: { until: "2029-01-01T00:00:00.000Z" } }],
      [["--until", "2031-01-01T00:00:00Z"], { filter: { until: untilNow } }],
      [["--all"], { filter: { until: untilNow } }],
      [["--all", "--dry-run"], { filter: { until: untilNow }, dryRun: true }],
    ] as const
    for (const [args, fields] of calls) {
      await using service = await serviceWith(1, [{ replayed: 1, skipped: 0 }])
      expect(await dead(service.url, "replay", "billing", ...args)).toMatchObject({ exitCode: 0, err: "" })
      expect(disposals(service)).toEqual([{ namespace: "billing", ...fields }])
    }
  })

  test("continues while there are more, and counts them all", async () => {
    const thousand = { replayed: 1_000, skipped: 0, more: true }
    await using service = await serviceWith(2_007, [thousand, thousand, { replayed: 7, skipped: 0 }])
    expect(await dead(service.url, "replay", "billing", "--all")).toEqual({
      exitCode: 0,
      out: "2007 replayed, 0 skipped.\n",
      err: "1000 replayed, 0 skipped …\n2000 replayed, 0 skipped …\n",
    })
  })

  test("replays no timer twice that dies again in the meantime", async () => {
    const thousand = { replayed: 1_000, skipped: 0, more: true }
    await using service = await serviceWith(2_000, [thousand, thousand, thousand])
    expect(await dead(service.url, "replay", "billing", "--all")).toMatchObject({
      exitCode: 0,
      out: "2000 replayed, 0 skipped.\n",
    })
  })

  test("that skips some says how many, and ends with 1", async () => {
    const answers = [
      { replayed: 3, skipped: 2, more: true },
      { replayed: 1, skipped: 3 },
    ]
    await using service = await serviceWith(7, answers)
    const { exitCode, out, err } = await dead(service.url, "replay", "billing", "--all", "--json")
    expect([exitCode, JSON.parse(out)]).toEqual([1, { replayed: 4, skipped: 3 }])
    expect(err).toContain("punctual dead replay: 3 skipped, because a timer with the same id is pending")
  })

  test("ends when only skipped ones are left", async () => {
    const skipping = { replayed: 0, skipped: 2, more: true }
    await using service = await serviceWith(7, [skipping, skipping], true)
    expect(await dead(service.url, "replay", "billing", "--all")).toMatchObject({
      exitCode: 1,
      out: "0 replayed, 2 skipped, and there are more.\n",
    })
    expect(disposals(service).length).toBe(1)
  })

  test("of one timer replays its latest dead letter, and succeeds although earlier ones stay", async () => {
    await using service = await serviceWith(3, [{ replayed: 1, skipped: 2 }])
    expect(await dead(service.url, "replay", "billing", "one")).toMatchObject({ exitCode: 0 })
    await using pending = await serviceWith(3, [{ replayed: 0, skipped: 3 }])
    expect(await dead(pending.url, "replay", "billing", "one")).toMatchObject({ exitCode: 1 })
  })

  test("as a dry run calls once and ends with 0", async () => {
    await using service = await serviceWith(2_000, [{ replayed: 999, skipped: 1, more: true }])
    expect(await dead(service.url, "replay", "billing", "--all", "--dry-run")).toEqual({
      exitCode: 0,
      out: "Dry run: 999 would be replayed, 1 would be skipped, and there are more.\n",
      err: "",
    })
  })

  test("does nothing to timers that die later", async () => {
    await using service = await serviceWith(0, [])
    const later = ["--from", "2031-01-01T00:00:00Z"]
    expect(await dead(service.url, "replay", "billing", ...later)).toMatchObject({ exitCode: 0 })
    expect(disposals(service)).toEqual([])
  })
})

describe("dead discard", () => {
  test("of everything needs a confirmation, unless it is a dry run", async () => {
    await using service = await serviceWith(2, [{ discarded: 2 }, { discarded: 2 }])
    const refused = await dead(service.url, "discard", "billing", "--all")
    expect([refused.exitCode, refused.err]).toEqual([2, expect.stringContaining("--yes")])
    expect(await dead(service.url, "discard", "billing", "--all", "--dry-run")).toEqual({
      exitCode: 0,
      out: "Dry run: 2 would be discarded.\n",
      err: "",
    })
    expect(
      await dead(service.url, "discard", "billing", "--all", "--yes", "--why", "done", "--json"),
    ).toEqual({
      exitCode: 0,
      out: '{\n  "discarded": 2\n}\n',
      err: "",
    })
    const filter = { until: untilNow }
    expect(disposals(service)).toEqual([
      { namespace: "billing", filter, dryRun: true },
      { namespace: "billing", filter, reason: "done" },
    ])
  })
})

test("replay and discard take exactly one selection", async () => {
  for (const command of ["replay", "discard"]) {
    for (const args of [
      [],
      ["one", "--all", "--yes"],
      ["one", "--id-prefix", "o"],
      ["--id-prefix", "o", "--all"],
    ]) {
      const { exitCode } = await dead("http://127.0.0.1:1", command, "billing", ...args)
      expect([command, args, exitCode]).toEqual([command, args, 2])
    }
  }
})

test("dead letters of the real service can be listed, replayed and discarded", () => {
  let isWell = false
  const deliver = (): Effect.Effect<Delivery> =>
    Effect.sync(() =>
      isWell
        ? { kind: "delivered", status: 200 }
        : { kind: "dead", reason: "refused", status: 410, error: "gone" },
    )
  return withService({ deliver }, async ({ url, call }) => {
    const list = async (...args: ReadonlyArray<string>) =>
      rowsOf((await dead(url, "list", "billing", ...args)).out)
    const timers = Array.from({ length: 3 }, (_, n) => ({
      namespace: "billing",
      timerId: `invoice-${n}`,
      delay: "0s",
      callbackUrl: "http://localhost/",
    }))
    await call("createMany", { timers })
    const rows = await eventually("all are dead", async () => {
      const listed = await list()
      return listed.length === 4 ? listed : undefined
    })
    expect(rows[0]).toEqual(["TIMER", "STATE", "FINISHED AT", "ATTEMPTS", "TARGET", "WHY"])
    expect(rows[1]?.[5]).toBe("refused: gone")
    expect(await list("--id-prefix", "other")).toEqual([["No dead letters in billing that match."]])

    isWell = true
    expect(await dead(url, "replay", "billing", "invoice-0")).toMatchObject({ exitCode: 0 })
    expect(await dead(url, "replay", "billing", "invoice-7")).toMatchObject({ exitCode: 1, out: "" })
    const prefix = ["--id-prefix", "invoice-1"]
    expect(await dead(url, "replay", "billing", ...prefix)).toMatchObject({
      exitCode: 0,
      out: "1 replayed, 0 skipped.\n",
    })
    expect(await dead(url, "discard", "billing", "--all", "--yes")).toMatchObject({
      exitCode: 0,
      out: "1 discarded.\n",
    })
    expect(await list()).toEqual([["No dead letters in billing that match."]])
  })
})
