// `punctual timers` against the real service: its effects, its output and its exit codes.
import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Deferred, Effect } from "effect"
import type { Delivery } from "../../../src/ports/Deliverer.ts"
import { eventually } from "../../../testkit/eventually.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { type RunningService, type ServiceOptions, withService } from "../../http/ServiceFixture.ts"
import { type Ended, requestsTo, rowsOf, run, serviceThatAnswers } from "../CommandFixture.ts"

type Timers = (...args: ReadonlyArray<string>) => Promise<Ended>

const withTimers = (
  body: (timers: Timers, service: RunningService) => Promise<void>,
  options: ServiceOptions = {},
) =>
  withService(options, (service) =>
    body((...args) => run(["timers", ...args], { environmentUrl: service.url }), service),
  )

const to = ["--to", "http://localhost/hook"]
const at = ["--at", "2031-01-01T09:00:00+01:00"]

describe("timers create", () => {
  test("prints the result", () =>
    withTimers(async (timers) => {
      const sentence = /^(\w+:?) billing\/one, for 2031-01-01T08:00:00\.000Z, revision \d+\.\n$/
      const words = []
      for (const more of [[], [], ["--payload", "1"]]) {
        const { exitCode, out, err } = await timers("create", "billing", "one", ...at, ...to, ...more)
        expect([exitCode, err]).toEqual([0, ""])
        words.push(sentence.exec(out)?.[1])
      }
      expect(words).toEqual(["Created", "Unchanged:", "Replaced"])
    }))

  test("warns about an instant in the past, on stderr", () =>
    withTimers(
      async (timers) => {
        const past = ["--at", "2029-12-31T21:00:00Z"]
        const { exitCode, out, err } = await timers("create", "billing", "one", ...past, ...to)
        expect([exitCode, err]).toEqual([
          0,
          "Warning: executeAt is 3h in the past: the timer is due at once.\n",
        ])
        expect(out).toStartWith("Created billing/one")
        await timers("create", "billing", "two", ...at, ...to)
        const updated = await timers("update", "billing", "two", ...past)
        expect([updated.exitCode, updated.err]).toEqual([0, expect.stringContaining("3h in the past")])
      },
      { clockStartMs: Date.UTC(2030, 0, 1) },
    ))

  test("sends all given fields, and makes an id if there is none", () =>
    withTimers(
      async (timers) => {
        const { out } = await timers(
          ...["create", "billing", "--delay", "1h30m", "--correlation-id", "order-7", "--json"],
          ...["--target", '{"type":"webhook","url":"http://localhost/hook","method":"PUT"}'],
          ...["--retry", '{"maxAttempts":3}', "--expire-after", "2h", "--on-existing", "fail"],
        )
        const { result, timer } = JSON.parse(out)
        expect(result).toBe("created")
        expect(timer).toMatchObject({
          correlationId: "order-7",
          expireAfter: "2h",
          target: { method: "PUT" },
          retryPolicy: { maxAttempts: 3 },
        })
        expect(timer.timerId).toMatch(/^[0-9a-f-]{36}$/)
        expect(Date.parse(timer.executeAt) - Date.parse(timer.createdAt)).toBe(5_400_000)
      },
      // With a clock that stands still.
      { clockStartMs: Date.UTC(2030, 0, 1) },
    ))

  test("takes retry waits, what happens on expiry and on death, and a trace, and shows them", () =>
    withTimers(async (timers) => {
      const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      const { err } = await timers(
        ...[
          "create",
          "billing",
          "one",
          ...at,
          ...to,
          "--retry-waits",
          "1m,1h,1d",
          "--traceparent",
          traceparent,
        ],
        ...["--expire-after", "2h", "--on-expire", "drop", "--on-dead", "http://localhost/dead"],
      )
      expect(err).toBe("")
      const { out } = await timers("get", "billing", "one")
      expect(out).toMatch(/^retry +4 attempts, after waits of 1m, 1h, 1d$/m)
      expect(out).toMatch(/^on expiry +dropped$/m)
      expect(out).toMatch(/^on death +http:\/\/localhost\/dead$/m)
      expect(out).toContain(traceparent)
      await timers("update", "billing", "one", "--reset", "onDead", "--retry-waits", "5s")
      const { out: changed } = await timers("get", "billing", "one", "--json")
      expect(JSON.parse(changed).timer).toMatchObject({ retryPolicy: { waits: ["5s"] }, onExpire: "drop" })
      expect(JSON.parse(changed).timer).not.toHaveProperty("onDead")
      for (const wrong of [
        ["--retry-waits", "1m,soon"],
        ["--retry-waits", "1m", "--retry", "{}"],
        ["--on-expire", "keep"],
        ["--on-dead", "{"],
      ]) {
        expect((await timers("update", "billing", "one", ...wrong)).exitCode).toBe(2)
      }
      expect((await timers("create", "billing", ...at, ...to, "--on-expire", "drop")).err).toContain(
        "expireAfter",
      )
    }))

  test("sets tags, by which timers can be listed, counted, changed and cancelled", () =>
    withTimers(async (timers) => {
      await timers("create", "billing", "one", ...at, ...to, "--tag", "trial", "--tag", "a,b")
      await timers("create", "billing", "two", ...at, ...to, "--tag", "trial")
      await timers("create", "billing", "three", ...at, ...to)
      expect((await timers("get", "billing", "one")).out).toContain("tags           trial, a,b\n")
      const listed = async (tag: string) => {
        const { out } = await timers("list", "billing", "--tag", tag, "--all", "--json")
        return out.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line).timerId]))
      }
      expect((await listed("trial")).sort()).toEqual(["one", "two"])
      expect(await listed("a,b")).toEqual(["one"])
      expect((await timers("count", "billing", "--tag", "trial")).out).toStartWith("2")
      await timers("update", "billing", "one", "--tag", "paid")
      await timers("update", "billing", "two", "--reset", "tags")
      expect([await listed("trial"), await listed("paid")]).toEqual([[], ["one"]])
      const { exitCode } = await timers("create", "billing", ...at, ...to, "--tag", "")
      expect(exitCode).toBe(1)
      await timers("cancel", "billing", "--tag", "paid")
      expect(await listed("paid")).toEqual([])
    }))

  test("sends a payload unchanged, from a flag, a file or stdin", () =>
    withTimers(async (timers, { url }) => {
      using folder = new TemporaryFolder()
      const file = join(folder.path, "payload.json")
      writeFileSync(file, '{"n":\n12345678901234567890}\n')
      await timers("create", "billing", "flag", ...at, ...to, "--payload", '{"n":1e400,"n":0}')
      await timers("create", "billing", "file", ...at, ...to, "--payload-file", file)
      await run(["timers", "create", "billing", "stdin", ...at, ...to, "--payload-file", "-", "--url", url], {
        stdin: '"from stdin"',
      })
      const { out } = await timers("list", "billing", "--payload", "--all", "--json", "--id-prefix", "f")
      expect(out).toContain('"payload":{"n":1e400,"n":0}}\n')
      expect(out).toContain('"payload":{"n": 12345678901234567890}}\n')
      expect((await timers("get", "billing", "stdin")).out).toEndWith('\npayload:\n"from stdin"\n')
    }))

  test("with bad values ends with 1 if the service refuses them, and with 2 for wrong usage", () =>
    withTimers(async (timers) => {
      await timers("create", "billing", "one", ...at, ...to)
      const calls = [
        [1, ["billing", "one", "--delay", "1s", ...to, "--on-existing", "fail"], /timerExists/],
        [1, ["billing", ...at, "--to", "ftp://x"], /callbackUrl must be/],
        [1, ["billing", ...at, ...to, "--payload-file", "/nowhere/at/all"], /cannot be read/],
        [2, ["billing", ...at], /Say what to call/],
        [2, ["billing", ...at, ...to, "--target", '{"type":"event"}'], /--to and --target were both given/],
        [2, ["billing", ...to], /Say when/],
        [2, ["billing", ...at, "--delay", "1s", ...to], /--at and --delay were both given/],
        [2, ["billing", "--at", "tomorrow", ...to], /instant with an offset/],
        [2, ["billing", "--delay", "soon", ...to], /duration/],
        [2, ["billing", ...at, ...to, "--payload", "{"], /JSON/],
        [
          2,
          ["billing", ...at, ...to, "--payload", "1", "--payload-file", "-"],
          /--payload and --payload-file were both given/,
        ],
        [2, ["_billing", ...at, ...to], /NAMESPACE/],
        [2, [...at, ...to], /NAMESPACE/],
        [2, ["billing", "a", "b", ...at, ...to], /b/],
        [2, ["billing", ...at, ...to, "--on-existing", "merge"], /replace/],
      ] as const
      for (const [code, args, words] of calls) {
        const { exitCode, out, err } = await timers("create", ...args)
        expect([args, exitCode, out, err]).toEqual([args, code, "", expect.stringMatching(words)])
      }
    }))
})

describe("timers get", () => {
  test("shows everything about a timer, and its attempts", () => {
    const deliver = (): Effect.Effect<Delivery> =>
      Effect.succeed({
        kind: "dead",
        reason: "refused",
        status: 410,
        error: "\u001b[2J gone",
        answer: "moved\n\u001b[31m",
      })
    return withTimers(
      async (timers) => {
        await timers("create", "billing", "one", "--delay", "0s", ...to, "--payload", "{}")
        const shown = await eventually("it is dead", async () => {
          const { out } = await timers("get", "billing", "one")
          return /^state +dead$/m.test(out) ? out : undefined
        })
        expect(shown).toMatch(/^timer +billing\/one$/m)
        expect(shown).toMatch(/^why +refused$/m)
        expect(shown).toMatch(/^last attempt +20\S+Z {2}answered 410: \\u001b\[2J gone {2}\(\d+ ms\)$/m)
        expect(shown).toMatch(/^answer +moved\\n\\u001b\[31m$/m)
        expect(shown).toMatch(/^retry +10 attempts, 5s times 4 up to 8h, jitter 0\.2$/m)
        expect(shown).toEndWith("\npayload:\n{}\n")
        const rows = rowsOf((await timers("list", "billing", "--state", "dead")).out)
        expect(rows[1]?.[5]).toBe("refused: \\u001b[2J gone")
      },
      { deliver },
    )
  })

  test("of a missing timer ends with 1", () =>
    withTimers(async (timers) => {
      const { exitCode, out, err } = await timers("get", "billing", "one", "--json")
      expect([exitCode, out]).toEqual([1, ""])
      expect(err).toStartWith("punctual timers get: there is no timer one in the namespace billing. ")
    }))
})

describe("timers list", () => {
  test("is a table of the matching timers", () =>
    withTimers(async (timers) => {
      await timers("create", "billing", "b", "--at", "2031-01-02T00:00:00Z", ...to)
      await timers("create", "billing", "a", "--at", "2031-01-03T00:00:00Z", ...to)
      await timers("create", "other", "c", ...at, ...to)
      expect(rowsOf((await timers("list", "billing")).out)).toEqual([
        ["TIMER", "STATE", "FIRE AT", "ATTEMPTS", "TARGET"],
        ["b", "pending", "2031-01-02T00:00:00.000Z", "0", "http://localhost/hook"],
        ["a", "pending", "2031-01-03T00:00:00.000Z", "0", "http://localhost/hook"],
      ])
      const names = async (...args: ReadonlyArray<string>) =>
        rowsOf((await timers("list", "billing", ...args)).out).map(([name]) => name)
      expect(await names("--order", "desc")).toEqual(["TIMER", "a", "b"])
      expect(await names("--until", "2031-01-03T00:00:00Z")).toEqual(["TIMER", "b"])
      expect(await names("--from", "2031-01-03T00:00:00Z")).toEqual(["TIMER", "a"])
      expect(await names("--id-prefix", "a")).toEqual(["TIMER", "a"])
      expect(await names("--state", "delivered")).toEqual(["No delivered timers in billing that match."])
    }))

  test("prints one page and says how to continue, or with --all every page", () =>
    withTimers(async (timers, { call }) => {
      const timer = (n: number) => ({
        namespace: "billing",
        timerId: `t${n}`,
        executeAt: new Date(Date.UTC(2031, 0, 1, 0, 0, n)).toISOString(),
        callbackUrl: "http://localhost/",
      })
      await call("createMany", { timers: Array.from({ length: 230 }, (_, n) => timer(n)) })
      const ids = Array.from({ length: 230 }, (_, n) => `t${n}`)
      const first = await timers("list", "billing", "--limit", "100")
      const cursor = /--cursor=(\S+)$/.exec(first.err.trim())?.[1] ?? ""
      const second = await timers("list", "billing", "--limit", "100", "--cursor", cursor)
      const listed = [...rowsOf(first.out).slice(1), ...rowsOf(second.out).slice(1)].map(([id]) => id)
      expect(listed).toEqual(ids.slice(0, 200))
      const page = JSON.parse((await timers("list", "billing", "--limit", "2", "--json")).out)
      expect([page.timers.length, typeof page.nextCursor]).toEqual([2, "string"])
      const all = await timers("list", "billing", "--all")
      expect([all.err, rowsOf(all.out).map(([id]) => id)]).toEqual(["", ["TIMER", ...ids]])
      const lines = (await timers("list", "billing", "--all", "--json")).out.trimEnd().split("\n")
      expect(lines.map((line) => JSON.parse(line).timerId)).toEqual(ids)
      expect((await timers("list", "billing", "--all", "--limit", "2")).exitCode).toBe(2)
    }))
})

describe("timers update", () => {
  test("changes only the named fields", () =>
    withTimers(async (timers) => {
      await timers("create", "billing", "one", ...at, ...to, "--payload", "1", "--expire-after", "1h")
      const { exitCode, out } = await timers("update", "billing", "one", "--at", "2032-01-01T00:00:00Z")
      expect([exitCode, out]).toEqual([0, expect.stringContaining("for 2032-01-01T00:00:00.000Z")])
      await timers("update", "billing", "one", "--reset", "payload", "--reset", "expireAfter")
      const { timer } = JSON.parse((await timers("get", "billing", "one", "--json")).out)
      expect(timer).toMatchObject({ executeAt: "2032-01-01T00:00:00.000Z", target: { method: "POST" } })
      expect(timer).not.toHaveProperty("payload")
      expect(timer).not.toHaveProperty("expireAfter")
    }))

  test("that is refused, is empty, or names a field twice changes nothing", () =>
    withTimers(async (timers) => {
      await timers("create", "billing", "one", ...at, ...to)
      const calls = [
        [1, ["one", "--delay", "1s", "--if-revision", "1"], /revisionMismatch/],
        [1, ["two", "--delay", "1s"], /timerNotFound/],
        [2, ["one"], /Give at least one flag/],
        [2, ["one", "--delay", "1s", ...at], /--at and --delay were both given: remove one/],
        [2, ["one", "--payload", "1", "--reset", "payload"], /not both/],
        [2, ["one", "--reset", "timerId"], /retryPolicy/],
      ] as const
      for (const [code, args, words] of calls) {
        const { exitCode, err } = await timers("update", "billing", ...args)
        expect([args, exitCode, err]).toEqual([args, code, expect.stringMatching(words)])
      }
      const { timer } = JSON.parse((await timers("get", "billing", "one", "--json")).out)
      expect(timer.executeAt).toBe("2031-01-01T08:00:00.000Z")
    }))
})

describe("timers cancel", () => {
  test("of one timer says whether it was in time, and so does its exit code", async () => {
    const inFlight = Deferred.makeUnsafe<void>()
    const end = Deferred.makeUnsafe<void>()
    const deliver = ({ timerId }: { readonly timerId: string }): Effect.Effect<Delivery> =>
      Effect.gen(function* () {
        if (timerId === "slow") {
          yield* Deferred.succeed(inFlight, undefined)
          yield* Deferred.await(end)
        }
        return { kind: "delivered", status: 200 }
      })
    await withTimers(
      async (timers) => {
        await timers("create", "billing", "one", ...at, ...to)
        expect(await timers("cancel", "billing", "one", "--if-revision", "1")).toMatchObject({ exitCode: 1 })
        expect(await timers("cancel", "billing", "one")).toEqual({
          exitCode: 0,
          out: "Cancelled: it will not fire.\n",
          err: "",
        })
        expect(await timers("cancel", "billing", "one", "--json")).toMatchObject({
          exitCode: 0,
          out: '{\n  "result": "alreadyCancelled"\n}\n',
        })
        await timers("create", "billing", "slow", "--delay", "0s", ...to)
        await Effect.runPromise(Deferred.await(inFlight))
        const late = await timers("cancel", "billing", "slow")
        expect([late.exitCode, late.out]).toEqual([1, ""])
        expect(late.err).toContain("cannot be stopped")
        await Effect.runPromise(Deferred.succeed(end, undefined))
        expect(await timers("cancel", "billing", "none")).toMatchObject({ exitCode: 1 })
      },
      { deliver },
    )
  })

  test("of many continues while there are more, and prints the total", async () => {
    const batches = [
      { cancelled: 500, inFlight: 1, more: true },
      { cancelled: 20, inFlight: 0 },
    ]
    await using service = await serviceThatAnswers(({ path }) => ({
      body: path.endsWith("/count") ? { count: 521, capped: false } : batches.shift(),
    }))
    const { exitCode, out, err } = await run(
      ["timers", "cancel", "billing", "--id-prefix", "t", "--until", "2031-01-01T00:00:00Z"],
      { environmentUrl: service.url },
    )
    expect([exitCode, out]).toEqual([1, "520 cancelled, 1 in flight.\n"])
    expect(err).toStartWith("500 cancelled, 1 in flight …\npunctual timers cancel: attempts in flight")
    const filter = { idPrefix: "t", until: "2031-01-01T00:00:00Z" }
    const asked = { namespace: "billing", filter }
    expect(requestsTo(service)).toEqual([
      ["/timers/count", { namespace: "billing", ...filter }],
      ["/timers/deleteMany", asked],
      ["/timers/deleteMany", asked],
    ])
  })

  test("of everything needs a confirmation", () =>
    withTimers(async (timers, { pendingIn }) => {
      await timers("create", "billing", "one", ...at, ...to)
      await timers("create", "billing", "two", ...at, ...to)
      for (const args of [
        [],
        ["--all"],
        ["one", "--all", "--yes"],
        ["--id-prefix", "t", "--if-revision", "1"],
      ]) {
        expect([args, (await timers("cancel", "billing", ...args)).exitCode]).toEqual([args, 2])
      }
      expect(await pendingIn("billing")).toBe(2)
      expect(await timers("cancel", "billing", "--all", "--yes", "--json")).toEqual({
        exitCode: 0,
        out: '{\n  "cancelled": 2,\n  "inFlight": 0\n}\n',
        err: "",
      })
      expect(await pendingIn("billing")).toBe(0)
    }))

  test("of many ends even if others keep creating timers, and says so", async () => {
    await using service = await serviceThatAnswers(({ path }) =>
      path.endsWith("/count")
        ? { body: { count: 1_500, capped: false } }
        : { body: { cancelled: 1_000, inFlight: 0, more: true } },
    )
    const args = ["timers", "cancel", "billing", "--id-prefix", "x", "--json", "--url", service.url]
    const { exitCode, out, err } = await run(args)
    expect([exitCode, JSON.parse(out)]).toEqual([1, { cancelled: 2_000, inFlight: 0, more: true }])
    expect(err).toContain("some timers remain")
    const many = ["/timers/deleteMany", { namespace: "billing", filter: { idPrefix: "x" } }] as const
    expect(requestsTo(service)).toEqual([
      ["/timers/count", { namespace: "billing", idPrefix: "x" }],
      many,
      many,
    ])
  })
})
