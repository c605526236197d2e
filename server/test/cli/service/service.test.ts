// `punctual status`, `pause`, `resume`, `audit`, `breakers`, `egress` and `clock`: commands about a service as a whole.
import { describe, expect, test } from "bun:test"
import { advanceWithinMs } from "../../../src/cli/service/clock.ts"
import { longestAdvanceMs } from "../../../src/engine/clock/ClockAdvance.ts"
import { withService } from "../../http/ServiceFixture.ts"
import { problem, requestsTo, rowsOf, run, serviceThatAnswers } from "../CommandFixture.ts"

const now = "2030-01-01T00:00:00.000Z"
const since = "2029-12-31T00:00:00.000Z"

describe("the whole service", () => {
  test("says whether timers fire, and its time", async () => {
    const answers = [
      [{ now }, `Timers fire. Time of the service: ${now}.\n`],
      [
        { now, pause: { since, kind: "asked", reason: "\u001b[2J moving" } },
        `Paused since ${since}: \\u001b[2J moving. Time of the service: ${now}.\n`,
      ],
      [
        { now, pause: { since, kind: "restored" } },
        `Paused since ${since} because of a restore from a backup. Time of the service: ${now}.\n`,
      ],
    ] as const
    for (const [body, words] of answers) {
      await using service = await serviceThatAnswers(() => ({ body }))
      expect(await run(["status", "--url", service.url])).toEqual({ exitCode: 0, out: words, err: "" })
      const { out } = await run(["status", "--json", "--url", service.url])
      expect(JSON.parse(out)).toEqual(body)
    }
  })

  test("says which version runs, and shows its settings on request", async () => {
    const settings = [
      { name: "TIMER_HTTP_PORT", value: "8080", isSet: false },
      { name: "TIMER_STORE_URL", value: "postgres://…@db/timers", isSet: true },
    ]
    const build = { version: "1.2.3" }
    await using service = await serviceThatAnswers(() => ({ body: { now, build, settings } }))
    const { exitCode, out } = await run(["status", "--settings", "--url", service.url])
    expect(exitCode).toBe(0)
    expect(out).toContain("Version of the service: 1.2.3 (from source).\n")
    expect(rowsOf(out).slice(-3)).toEqual([
      ["SETTING", "VALUE", "SET"],
      ["TIMER_HTTP_PORT", "8080", "default"],
      ["TIMER_STORE_URL", "postgres://…@db/timers", "yes"],
    ])
    expect(requestsTo(service)).toEqual([["/service/get", { settings: true }]])
    const made = { version: "1.2.3", commit: "4f1c2e9", builtAt: now }
    await using built = await serviceThatAnswers(() => ({ body: { now, build: made } }))
    expect((await run(["status", "--url", built.url])).out).toContain(`1.2.3 (commit 4f1c2e9, built ${now})`)
  })

  test("can be paused and resumed", async () => {
    await using service = await serviceThatAnswers(() => ({ body: { now } }))
    for (const args of [["pause"], ["pause", "--reason", "x"], ["resume"], ["resume", "--fire-overdue"]]) {
      expect(await run([...args, "--url", service.url])).toMatchObject({ exitCode: 0 })
    }
    expect(requestsTo(service)).toEqual([
      ["/service/pause", {}],
      ["/service/pause", { reason: "x" }],
      ["/service/resume", {}],
      ["/service/resume", { fireOverdue: true }],
    ])
  })
})

describe("audit", () => {
  const record = {
    id: "1",
    at: now,
    action: "namespaces.put",
    outcome: "done",
    caller: "ops\u001b",
    keyId: "0123456789",
    address: "10.0.0.1",
    requestId: "r",
    about: { namespace: "billing" },
    before: { maxPending: 1 },
    after: { maxPending: 2, paused: true },
  }
  const bare = {
    id: "0",
    at: since,
    action: "timers.replay",
    outcome: "unknown",
    caller: "program",
    count: 3,
  }

  test("shows who did what as a table, and says if there is more", async () => {
    await using service = await serviceThatAnswers(() => ({
      body: { records: [record, bare], unreadable: 2, nextCursor: "c" },
    }))
    const { exitCode, out, err } = await run(["audit", "--url", service.url])
    expect(exitCode).toBe(0)
    expect(err).toBe(
      "2 records are damaged and cannot be shown.\nThere may be more: list all with --all, or continue with --cursor=c\n",
    )
    expect(rowsOf(out)).toEqual([
      ["AT", "ACTION", "CALLER", "ADDRESS", "COUNT", "WHAT"],
      [
        now,
        "namespaces.put",
        "ops\\u001b (0123456789)",
        "10.0.0.1",
        "-",
        "namespace billing, maxPending 1 → 2, paused - → true",
      ],
      [since, "timers.replay", "program", "-", "3", "result unknown"],
    ])
    await using empty = await serviceThatAnswers(() => ({ body: { records: [] } }))
    expect((await run(["audit", "--url", empty.url])).out).toBe("No audit records.\n")
  })

  test("passes its filters on, and exports all pages as one line of JSON for each record", async () => {
    let pages = 0
    await using service = await serviceThatAnswers(() =>
      pages++ === 0 ? { body: { records: [record], nextCursor: "c" } } : { body: { records: [bare] } },
    )
    const filter = ["--since", since, "--until", now, "--action", "namespaces", "--key", "ops"]
    const { exitCode, out, err } = await run(["audit", "--all", "--json", ...filter, "--url", service.url])
    expect([exitCode, err]).toEqual([0, ""])
    expect(
      out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toEqual([record, bare])
    const fields = { since, until: now, action: "namespaces", key: "ops" }
    expect(requestsTo(service)).toEqual([
      ["/audit/list", fields],
      ["/audit/list", { ...fields, cursor: "c" }],
    ])
    expect(await run(["audit", "--all", "--limit", "3"])).toMatchObject({ exitCode: 2 })
    expect(await run(["audit", "--since", "yesterday"])).toMatchObject({ exitCode: 2 })
  })
})

describe("breakers", () => {
  const breaker = { host: "h", namespace: "billing", failures: 9, waiting: 4, probeInMs: 2_500 }

  test("are listed with their node, and the command says if there are more", async () => {
    await using service = await serviceThatAnswers(() => ({
      body: { node: "a", breakers: [breaker], more: true },
    }))
    const { exitCode, out, err } = await run(["breakers", "list", "--url", service.url])
    expect([exitCode, err]).toEqual([0, "There are more open breakers than this list shows.\n"])
    expect(rowsOf(out)).toEqual([
      ["HOST", "NAMESPACE", "FAILURES", "WAITING", "NEXT TRY"],
      ["h", "billing", "9", "4", "in 2.5 s"],
    ])
    await using well = await serviceThatAnswers(() => ({ body: { node: "a", breakers: [] } }))
    expect((await run(["breakers", "list", "--url", well.url])).out).toBe("No breaker is open on a.\n")
  })

  test("are closed by their host, and it is a failure if none was open", async () => {
    for (const [reset, exitCode, out] of [
      [2, 0, "Closed 2 breakers on a.\n"],
      [0, 1, ""],
    ] as const) {
      await using service = await serviceThatAnswers(() => ({ body: { node: "a", reset } }))
      expect(await run(["breakers", "reset", "h", "--url", service.url])).toMatchObject({ exitCode, out })
      expect(requestsTo(service)[0]).toEqual(["/breakers/reset", { host: "h" }])
    }
    const closed = await serviceThatAnswers(({ path }) => ({
      body: path.endsWith("/reset")
        ? { node: "a", reset: 0 }
        : {
            node: "a",
            breakers: ["h:80", "h:80", "g:443"].map((host) => ({
              ...{ host, namespace: "billing", failures: 9, waiting: 4, probeInMs: 2_500 },
            })),
          },
    }))
    await using service = closed
    expect((await run(["breakers", "reset", "h", "--url", service.url])).err).toBe(
      "punctual breakers reset: no breaker is open for h on a. Open are: h:80, g:443.\n",
    )
    expect((await run(["breakers", "reset"])).exitCode).toBe(2)
  })
})

describe("egress check", () => {
  const addresses = [
    { address: "8.8.8.8", allowed: true, entry: "public" },
    { address: "10.0.0.1", allowed: false },
  ]

  test("shows the addresses and the reason, and fails if the URL is not allowed", async () => {
    const reason = "The entry public of TIMER_EGRESS allows it."
    await using service = await serviceThatAnswers(() => ({
      body: { allowed: true, verdict: "allowed", entry: "public", reason, addresses },
    }))
    const allowed = await run(["egress", "check", "https://a.example/", "--url", service.url])
    expect([allowed.exitCode, allowed.err]).toEqual([0, ""])
    expect(allowed.out).toEndWith(`\nAllowed: ${reason}\n`)
    expect(rowsOf(allowed.out).slice(0, 3)).toEqual([
      ["ADDRESS", "ALLOWED BY"],
      ["8.8.8.8", "public"],
      ["10.0.0.1", "no entry"],
    ])
    expect(requestsTo(service)).toEqual([["/egress/check", { url: "https://a.example/" }]])
    expect((await run(["egress", "check"])).exitCode).toBe(2)
  })

  test("says that the answer is not known if the host cannot be resolved, and fails", async () => {
    const reason = "a.example cannot be resolved now, so its address cannot be checked."
    await using service = await serviceThatAnswers(() => ({
      body: { allowed: false, verdict: "unknown", reason, addresses: [] },
    }))
    expect(await run(["egress", "check", "https://a.example/", "--url", service.url])).toMatchObject({
      exitCode: 1,
      err: `punctual egress check: not known: ${reason}\n`,
    })
  })

  test("fails if the service must not call the URL, with --json too", () =>
    withService({ egress: "public" }, async ({ url }) => {
      const refused = await run(["egress", "check", "http://localhost:9000/", "--url", url])
      expect(refused).toMatchObject({
        exitCode: 1,
        out: "",
        err: "punctual egress check: not allowed: No entry of TIMER_EGRESS allows localhost: add loopback.\n",
      })
      const json = await run(["egress", "check", "http://127.0.0.1/", "--json", "--url", url])
      expect(json.exitCode).toBe(1)
      expect(JSON.parse(json.out)).toMatchObject({ allowed: false, addresses: [{ address: "127.0.0.1" }] })
    }))
})

describe("clock advance", () => {
  /** A clock that moves one hour with each call, and fires three timers on the way. */
  const slowClock = (startMs: number) => {
    let clockMs = startMs
    return serviceThatAnswers(({ path, body }) => {
      if (path === "/api/v1/service/get") return { body: { now: new Date(clockMs).toISOString() } }
      const goalMs = Date.parse(JSON.parse(body).to)
      clockMs = Math.min(goalMs, clockMs + 3_600_000)
      const moved = { now: new Date(clockMs).toISOString(), fired: 3 }
      return { body: clockMs < goalMs ? { ...moved, more: true } : moved }
    })
  }

  test("continues until the clock has moved by the duration, or to the instant", async () => {
    for (const args of [
      ["--by", "2h30m"],
      ["--to", "2030-01-01T02:30:00Z"],
    ]) {
      await using service = await slowClock(Date.parse(now))
      expect(await run(["clock", "advance", ...args, "--url", service.url])).toEqual({
        exitCode: 0,
        out: "The clock is at 2030-01-01T02:30:00.000Z; 9 attempts.\n",
        err: "2030-01-01T01:00:00.000Z, 3 attempts …\n2030-01-01T02:00:00.000Z, 6 attempts …\n",
      })
    }
  })

  test("with a limit of firings calls once, and ends with 1 if the limit stopped it", async () => {
    await using service = await slowClock(Date.parse(now))
    const args = ["clock", "advance", "--to", "2030-01-01T02:30:00Z", "--max-firings", "3", "--json"]
    const { exitCode, out } = await run([...args, "--url", service.url])
    expect([exitCode, JSON.parse(out)]).toEqual([
      1,
      { now: "2030-01-01T01:00:00.000Z", fired: 3, more: true },
    ])
    expect(requestsTo(service)).toEqual([["/clock/advance", { to: "2030-01-01T02:30:00Z", maxFirings: 3 }]])
  })

  test("waits longer for an answer than the service may need", () => {
    expect(advanceWithinMs).toBeGreaterThan(longestAdvanceMs)
  })

  test("ends if the clock does not move", async () => {
    await using service = await serviceThatAnswers(() => ({ body: { now, fired: 0, more: true } }))
    const stuck = await run(["clock", "advance", "--to", "2031-01-01T00:00:00Z", "--url", service.url])
    expect([stuck.exitCode, service.asked.length]).toEqual([1, 2])
  })

  test("is refused by a service with the system clock, and needs a distance", async () => {
    await using service = await serviceThatAnswers(() => problem(409, "clockNotManual", "It runs by itself."))
    const refused = await run(["clock", "advance", "--to", "2031-01-01T00:00:00Z", "--url", service.url])
    expect([refused.exitCode, refused.err]).toEqual([1, expect.stringContaining("It runs by itself.")])
    for (const args of [[], ["--by", "1h", "--to", "2031-01-01T00:00:00Z"], ["--by", "soon"]]) {
      expect((await run(["clock", "advance", ...args])).exitCode).toBe(2)
    }
  })
})

test("the real service can be paused, resumed, inspected and moved in time", () =>
  withService({ clockStartMs: Date.parse(now) }, async ({ url, call }) => {
    const asked = (...args: ReadonlyArray<string>) => run(args, { environmentUrl: url })
    expect((await asked("status")).out).toBe(`Timers fire. Time of the service: ${now}.\n`)
    expect((await asked("pause", "--reason", "moving")).out).toContain(`Paused since ${now}: moving.`)
    expect((await asked("resume")).out).toStartWith("Timers fire.")
    expect((await asked("breakers", "list")).out).toStartWith("No breaker is open on ")
    expect(await asked("breakers", "reset", "localhost")).toMatchObject({ exitCode: 1 })
    await call("create", { namespace: "billing", delay: "1h", callbackUrl: "http://localhost/" })
    expect(await asked("clock", "advance", "--by", "2h")).toEqual({
      exitCode: 0,
      out: "The clock is at 2030-01-01T02:00:00.000Z; 1 attempt.\n",
      err: "",
    })
    const back = await asked("clock", "advance", "--to", now)
    expect([back.exitCode, back.err]).toEqual([1, expect.stringContaining("never goes back")])
  }))
