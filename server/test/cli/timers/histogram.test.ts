// `punctual timers histogram` and `punctual timers lives`.
import { expect, test } from "bun:test"
import { withService } from "../../http/ServiceFixture.ts"
import { requestsTo, rowsOf, run, serviceThatAnswers } from "../CommandFixture.ts"

const span = { from: "2031-01-01T00:00:00.000Z", until: "2031-01-01T04:00:00.000Z" }
const timer = (timerId: string, hour: number) => ({
  namespace: "billing",
  timerId,
  executeAt: `2031-01-01T0${hour}:30:00Z`,
  callbackUrl: "https://example.com/",
  payload: { big: 1 },
})

test("a histogram is shown as bars, and as the JSON of the service", () =>
  withService({}, async ({ url, call }) => {
    await call("createMany", { timers: [timer("a", 0), timer("b", 0), timer("c", 2)] })
    const args = ["timers", "histogram", "billing", "--from", span.from, "--until", span.until]
    const shown = await run([...args, "--buckets", "4"], { environmentUrl: url })
    expect([shown.exitCode, shown.err]).toEqual([0, ""])
    const rows = rowsOf(shown.out)
    expect(rows.map(([from, timers]) => [from, timers])).toEqual([
      ["FROM", "TIMERS"],
      ["2031-01-01T00:00:00.000Z", "2"],
      ["2031-01-01T01:00:00.000Z", "0"],
      ["2031-01-01T02:00:00.000Z", "1"],
      ["2031-01-01T03:00:00.000Z", "0"],
      ["3 timers", undefined],
    ])
    expect(rows.map((row) => row[2]?.length)).toEqual([undefined, 50, undefined, 25, undefined, undefined])
    const json = await run([...args, "--buckets", "1", "--json"], { environmentUrl: url })
    expect(JSON.parse(json.out)).toMatchObject({ counts: [3], total: 3, estimated: false })
    const wrong = await run(["timers", "histogram", "*", "--state", "delivered"], { environmentUrl: url })
    expect(wrong.exitCode).toBe(2)
  }))

test("a histogram says what is estimated, what is left out, and which nodes are missing", async () => {
  const base = { ...span, counts: [2_000_000], total: 2_000_000, asOf: span.from }
  const shown = async (answer: object) => {
    await using service = await serviceThatAnswers(() => ({ body: { ...base, ...answer } }))
    const ended = await run(["timers", "histogram", "a,b", "--until", span.until], {
      environmentUrl: service.url,
    })
    const [[, request] = []] = requestsTo(service)
    expect(request).toEqual({
      filter: {
        namespaces: ["a", "b"],
        state: "pending",
        from: "2030-12-31T04:00:00.000Z",
        until: span.until,
      },
      buckets: 24,
    })
    return ended
  }
  const estimated = await shown({ estimated: true, capped: true, missing: ["n2", "n3"] })
  expect(estimated.out).toContain(
    "about 2,000,000 timers, estimated from counts since 2031-01-01T00:00:00.000Z",
  )
  expect(estimated.err).toContain("Some timers are left out.")
  expect(estimated.err).toContain("These nodes did not answer, so their timers are left out: n2, n3")
  const stopped = await shown({ estimated: false, capped: true, examined: 100_000, countedUntil: span.until })
  expect(stopped.err).toContain(
    "Counting stopped at 2031-01-01T04:00:00.000Z: timers from then on are left out.",
  )
  const byId = await shown({ estimated: false, capped: true, examined: 100_000 })
  expect(byId.err).toContain("Counting stopped after 100,000 timers: others are left out.")
})

test("the lives of a timer are shown in a table, by page, and line by line with their payloads", () =>
  withService({}, async ({ url, call }) => {
    const key = { namespace: "billing", timerId: "a" }
    await call("create", timer("a", 1))
    await call("delete", key)
    await call("create", timer("a", 2))
    const lives = (...args: ReadonlyArray<string>) =>
      run(["timers", "lives", ...args], { environmentUrl: url })
    const table = await lives("billing", "a")
    expect(rowsOf(table.out).map((row) => row.slice(0, 2))).toEqual([
      ["TIMER", "STATE"],
      ["a", "pending"],
      ["a", "cancelled"],
    ])
    const first = await lives("billing", "a", "--limit", "1")
    expect(first.err).toContain("There are more: list all with --all, or continue with --cursor=")
    const lines = (await lives("billing", "a", "--all", "--json")).out.trim().split("\n")
    expect(lines.map((line) => JSON.parse(line).state)).toEqual(["pending", "cancelled"])
    expect(lines[0]).toEndWith(',"payload":{"big":1}}')
    expect((await lives("billing", "none")).out).toBe("The store has no life of the timer none in billing.\n")
    expect((await lives("billing", "a", "--all", "--limit", "1")).exitCode).toBe(2)
  }))
