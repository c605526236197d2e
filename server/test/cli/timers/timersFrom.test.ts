// `punctual timers create --from`: files of timers against a real service, and against one that refuses for a while.
import { describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"
import { type RunningService, withService } from "../../http/ServiceFixture.ts"
import { type Asked, problem, run, serviceThatAnswers } from "../CommandFixture.ts"

const at = "2030-01-01T09:00:00Z"
const callbackUrl = "http://127.0.0.1:9/hook"

const line = (timerId: string | undefined, more: object = {}): string =>
  JSON.stringify({ namespace: "billing", timerId, executeAt: at, callbackUrl, ...more })

const creating = (url: string, stdin: string, ...args: ReadonlyArray<string>) =>
  run(["timers", "create", "--from", "-", "--format", "jsonl", "--url", url, ...args], { stdin })

const timerOf = async ({ call }: RunningService, timerId: string) =>
  (await call("get", { namespace: "billing", timerId })).json.timer

describe("JSON Lines", () => {
  test("are created with a report by line, and a second run changes nothing", () =>
    withService({}, async (service) => {
      const file = `${line("a")}\n\n${line("b", { payload: 1 })}\r\n${line("a", { payload: 2 })}\n`
      const first = await creating(service.url, file)
      expect(first).toEqual({
        exitCode: 0,
        out: [
          "line 1  created  billing/a",
          "line 3  created  billing/b",
          "line 4  replaced  billing/a",
          "3 timers: 2 created, 1 replaced, 0 unchanged.",
          "",
        ].join("\n"),
        err: "",
      })
      const once = `${line("b", { payload: 1 })}\n`
      expect((await creating(service.url, once)).out).toBe(
        "line 1  unchanged  billing/b\n1 timer: 0 created, 0 replaced, 1 unchanged.\n",
      )
    }))

  test("that fail are named with their line and their field, and the others are created", () =>
    withService({}, async (service) => {
      const file = [
        line("a"),
        "nonsense",
        "[1]",
        line("b", { executeAt: "soon" }),
        line("c", { colour: "red" }),
        line("d"),
      ]
      const { exitCode, out, err } = await creating(service.url, file.join("\n"))
      const lines = out.split("\n")
      expect(exitCode).toBe(1)
      expect(lines[1]).toBe("line 2  failed  is not JSON")
      expect(lines[2]).toBe("line 3  failed  must be a JSON object with the fields of a timer")
      expect(lines[3]).toMatch(/^line 4 {2}failed {2}billing\/b {2}\/executeAt must/)
      expect(lines[4]).toMatch(/^line 5 {2}failed {2}billing\/c {2}\/colour is an unknown field/)
      expect(lines[5]).toBe("line 6  created  billing/d")
      expect(lines[6]).toBe("6 timers: 2 created, 0 replaced, 0 unchanged, 4 failed.")
      expect(err).toContain("4 lines failed")
    }))

  test("that are nested too deep fail alone, as the service would refuse them with all others", () =>
    withService({}, async (service) => {
      const nested = (levels: number) => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`)
      const file = [
        line("a"),
        line("b", { payload: nested(62) }),
        line("c", { payload: nested(61) }),
        line("d", { target: nested(5_000) }),
      ]
      const { exitCode, out } = await creating(service.url, file.join("\n"))
      const lines = out.split("\n")
      expect(exitCode).toBe(1)
      expect(lines[0]).toBe("line 1  created  billing/a")
      expect(lines[1]).toBe("line 2  failed  billing/b  must not be nested deeper than 64 levels")
      expect(lines[2]).toBe("line 3  created  billing/c")
      expect(lines[3]).toBe("line 4  failed  billing/d  must not be nested deeper than 64 levels")
    }))

  test("report to programs an object a line, and the counts last", () =>
    withService({}, async (service) => {
      const { out } = await creating(service.url, `${line("a")}\n${line("b", { executeAt: 1 })}`, "--json")
      const [a, b, counts] = out
        .trim()
        .split("\n")
        .map((text) => JSON.parse(text))
      expect(a).toMatchObject({
        line: 1,
        result: "created",
        namespace: "billing",
        timerId: "a",
        fireId: expect.any(String),
      })
      expect(b).toMatchObject({ line: 2, result: "failed", errors: [{ pointer: "/executeAt" }] })
      expect(counts).toEqual({
        lines: 2,
        created: 1,
        replaced: 0,
        unchanged: 0,
        alreadyFinished: 0,
        uncertain: 0,
        failed: 1,
      })
    }))

  test("keep their payloads as they are written", () =>
    withService({}, async (service) => {
      const text = `{"timerId":"big", "payload": {"n":12345678901234567890, "n":1.0}, "executeAt":"${at}","callbackUrl":"${callbackUrl}"}`
      expect((await creating(service.url, text, "billing")).exitCode).toBe(0)
      const got = await service.call("get", { namespace: "billing", timerId: "big" })
      expect(got.text).toContain('"payload":{"n":12345678901234567890, "n":1.0}')
    }))

  test("get what they leave out: the namespace, an id, the rule for existing timers", () =>
    withService({}, async (service) => {
      const file = JSON.stringify({ executeAt: at, callbackUrl })
      const first = await creating(service.url, file, "shop")
      expect(first.out).toMatch(/^line 1 {2}created {2}shop\/[0-9a-f-]{36}\n/)
      await creating(service.url, line("a"))
      const kept = await creating(service.url, line("a", { payload: 2 }), "--on-existing", "fail")
      expect([kept.exitCode, kept.out]).toEqual([1, expect.stringContaining("line 1  failed  billing/a")])
    }))

  test("count delays from the start of the command by the service's clock, and leave wrong ones to the service", () =>
    withService({ clockStartMs: Date.UTC(2031, 0, 1) }, async (service) => {
      const file = [
        line("a", { executeAt: undefined, delay: "1h" }),
        line("b", { delay: "1h" }),
        line("c", { executeAt: undefined, delay: "soon" }),
      ]
      const { out } = await creating(service.url, file.join("\n"))
      expect((await timerOf(service, "a")).executeAt).toBe("2031-01-01T01:00:00.000Z")
      expect(out).toMatch(/line 2 {2}failed {2}billing\/b {2}\/delay cannot be given together with executeAt/)
      expect(out).toMatch(/line 3 {2}failed {2}billing\/c {2}\/delay must/)
    }))
})

describe("CSV", () => {
  const csv = (url: string, stdin: string, ...args: ReadonlyArray<string>) =>
    run(["timers", "create", "billing", "--from", "-", "--format", "csv", "--url", url, ...args], { stdin })

  test("is read by its header, with JSON where a field is JSON, and tags", () =>
    withService({}, async (service) => {
      const file = [
        "timerId,executeAt,target,payload,tags",
        `a,${at},"{""type"":""webhook"",""url"":""${callbackUrl}""}","{""text"":""one`,
        `two""}",`,
        `b,${at},"{""type"":""webhook"",""url"":""${callbackUrl}""}",12345678901234567890,trial; late`,
      ]
      // A line break inside JSON text is not JSON: the payload of the first is wrong.
      const { out, exitCode } = await csv(service.url, file.join("\r\n"))
      expect(exitCode).toBe(1)
      expect(out.split("\n").slice(0, 2)).toEqual([
        'line 2  failed  /payload must be JSON (text needs quotes of its own: "hello")',
        "line 4  created  billing/b",
      ])
      expect(await timerOf(service, "b")).toMatchObject({ tags: ["trial", "late"] })
      const got = await service.call("get", { namespace: "billing", timerId: "b" })
      expect(got.text).toContain('"payload":12345678901234567890')
    }))

  test("is explained in the help, with every column that holds JSON", async () => {
    const { out } = await run(["timers", "create", "--help"])
    expect(out).toContain("target, payload, retryPolicy and onDead as JSON")
  })

  test("that is wrong says where", () =>
    withService({}, async (service) => {
      const head = "timerId,executeAt,callbackUrl"
      const file = [
        head,
        `a,${at}`,
        `b,${at},${callbackUrl},x`,
        `c,5" nail,${callbackUrl}`,
        `d,${at},${callbackUrl}`,
        '"e',
      ]
      const { out } = await csv(service.url, file.join("\n"))
      expect(out.split("\n").slice(0, 5)).toEqual([
        "line 2  failed  has 2 fields, but the first line of the file names 3",
        "line 3  failed  has 4 fields, but the first line of the file names 3",
        expect.stringContaining("line 4  failed  has a quote in a field"),
        "line 5  created  billing/d",
        "line 6  failed  has a quoted field that never ends",
      ])
    }))

  test("with a quote that is never closed is not read to its end, even if all other lines are empty", async () => {
    const file = `timerId,executeAt,callbackUrl\n"a${"\n".repeat(600_000)}`
    const args = ["timers", "create", "billing", "--from", "-", "--format", "csv", "--dry-run"]
    const { out } = await run(args, { stdin: file })
    expect(out).toStartWith("line 2  failed  has a quoted field of more than 524288 characters")
  })

  test("with a header that is wrong sends nothing", () =>
    withService({}, async (service) => {
      const heads = [
        ["", "is empty"],
        ["timerId,colour\na,red", '"colour" is not a field: use namespace, timerId, executeAt'],
        ["timerId;executeAt\na;b", "separated by commas"],
        ["timerId,timerId\na,b", "names timerId twice"],
      ] as const
      for (const [file, why] of heads) {
        const { exitCode, out, err } = await csv(service.url, file)
        expect([exitCode, out, err.includes(why)]).toEqual([1, "", true])
      }
      expect(await service.pendingIn("billing")).toBe(0)
    }))
})

describe("a file", () => {
  test("of many batches is created whole, and told of on the way", () =>
    withService({}, async (service) => {
      using folder = new TemporaryFolder()
      const file = join(folder.path, "timers.jsonl")
      const count = 10_100
      writeFileSync(file, Array.from({ length: count }, (_, index) => line(`t-${index}`)).join("\n"))
      const { exitCode, out, err } = await run(["timers", "create", "--from", file, "--url", service.url])
      expect([exitCode, err]).toEqual([0, "10000 lines …\n"])
      expect(out.trimEnd().split("\n").at(-1)).toBe(
        `${count} timers: ${count} created, 0 replaced, 0 unchanged.`,
      )
      expect(await service.pendingIn("billing")).toBe(count)
    }))

  test("is only checked by --dry-run, without a service", async () => {
    const nowhere = "http://127.0.0.1:9"
    const good = await creating(nowhere, line("a"), "--dry-run")
    expect(good).toEqual({
      exitCode: 0,
      out: "line 1  ok  billing/a\n1 timer: 1 ok. Nothing was sent. The service may still refuse lines, for example because of a quota or the egress rules.\n",
      err: "",
    })
    const wrong = await creating(
      nowhere,
      `${line("a")}\n${line("b", { executeAt: "2030-02-30" })}`,
      "--dry-run",
    )
    expect([wrong.exitCode, wrong.out]).toEqual([
      1,
      expect.stringMatching(/line 2 {2}failed {2}billing\/b {2}\/executeAt must/),
    ])
  })

  test("that cannot be read, or of which nobody knows the format, is refused", async () => {
    await using service = await serviceThatAnswers(() => ({ body: { now: at } }))
    const missing = await run(["timers", "create", "--from", "/no/such.csv", "--url", service.url])
    expect([missing.exitCode, missing.err]).toEqual([
      1,
      expect.stringContaining("/no/such.csv cannot be read"),
    ])
    for (const args of [
      ["--from", "-"],
      ["--from", "timers.txt"],
      ["billing", "a", "--from", "timers.csv"],
      ["billing", "--from", "timers.csv", "--delay", "1h"],
      ["billing", "--from", "timers.csv", "--tag", "x"],
      ["billing", "--dry-run", "--delay", "1h", "--to", callbackUrl],
      ["--delay", "1h", "--to", callbackUrl],
    ]) {
      expect([args, (await run(["timers", "create", ...args, "--url", service.url])).exitCode]).toEqual([
        args,
        2,
      ])
    }
    expect(service.asked.every(({ path }) => path.endsWith("/service/get"))).toBe(true)
  })
})

describe("a service that cannot take it now", () => {
  /** Answers what `answer` says to the batches, which it is given by number, and the time to the first call. */
  const refusing = (
    answer: (
      timers: ReadonlyArray<{ timerId: string }>,
      call: number,
      asked: Asked,
    ) => { status?: number; body: unknown },
  ) => {
    let calls = 0
    return serviceThatAnswers((asked) =>
      asked.path.endsWith("/service/get")
        ? { body: { now: at } }
        : answer(JSON.parse(asked.body).timers, ++calls, asked),
    )
  }
  const created = (timerId: string) => ({ result: "created", timerId, revision: 1, fireId: "f" })
  const document = {
    type: "t",
    title: "t",
    status: 503,
    code: "overloaded",
    detail: "Too much.",
    retryAfterSeconds: 0,
  }

  test("is asked again with the same text, and for an item with what must follow it", async () => {
    const sent: Array<ReadonlyArray<string>> = []
    await using service = await refusing((timers, call) => {
      sent.push(timers.map(({ timerId }) => timerId))
      if (call === 1) return problem(503, "overloaded", "Too much.", { retryAfterSeconds: 0 })
      return {
        body: {
          results: timers.map(({ timerId }, index) =>
            call === 2 && index === 0 ? { problem: document } : created(timerId),
          ),
        },
      }
    })
    const { exitCode, out, err } = await creating(service.url, [line("a"), line("b"), line("a")].join("\n"))
    expect([exitCode, sent]).toEqual([
      0,
      [
        ["a", "b", "a"],
        ["a", "b", "a"],
        ["a", "a"],
      ],
    ])
    expect(out).toContain("3 timers: 3 created")
    expect(err).toContain("Retrying")
    const bodies = service.asked.map(({ body }) => body)
    expect(bodies[1]).toBe(bodies[2] ?? "")
  })

  test("is given up after some tries, and later lines are not sent", async () => {
    let calls = 0
    await using service = await refusing(() => {
      calls++
      return problem(429, "quotaExceeded", "maxPending is used up.", { retryAfterSeconds: 0 })
    })
    const file = Array.from({ length: 600 }, (_, index) => line(`t-${index}`)).join("\n")
    const { exitCode, out, err } = await creating(service.url, file)
    expect([exitCode, calls]).toEqual([1, 8])
    expect(out).toContain("500 timers: 0 created, 0 replaced, 0 unchanged, 500 failed.")
    expect(err).toMatch(/stopped after line 500: .*maxPending.*run the command again/)
  })

  test("and may have stored the first try of a line with onExisting fail makes it uncertain", async () => {
    const exists = { ...document, status: 409, code: "timerExists", detail: "The timer exists." }
    await using service = await refusing((timers, call) => ({
      body: {
        results: timers.map(({ timerId }) => {
          if (timerId === "there") return { problem: exists }
          if (call > 1) return { problem: exists }
          return { problem: { ...document, written: timerId === "lost" ? "unknown" : "no" } }
        }),
      },
    }))
    const file = [line("there"), line("lost"), line("refused")].join("\n")
    const { exitCode, out, err } = await creating(service.url, file, "--on-existing", "fail")
    expect(out.split("\n").slice(0, 4)).toEqual([
      "line 1  failed  billing/there  The timer exists.",
      "line 2  uncertain  billing/lost  created or already there: the timer exists, and an earlier try of this command may have stored it",
      "line 3  failed  billing/refused  The timer exists.",
      "3 timers: 0 created, 0 replaced, 0 unchanged, 1 uncertain, 2 failed.",
    ])
    expect([exitCode, err]).toEqual([1, expect.stringContaining("2 lines failed, 1 line is uncertain")])
  })

  test("and loses a whole answer makes a stored line uncertain", async () => {
    const exists = { ...document, status: 409, code: "timerExists", detail: "The timer exists." }
    await using service = await refusing((timers, call) =>
      call === 1
        ? problem(503, "unavailable", "The store did not answer.", {
            retryAfterSeconds: 0,
            written: "unknown",
          })
        : { body: { results: timers.map(() => ({ problem: exists })) } },
    )
    const { exitCode, out } = await creating(service.url, line("a"), "--on-existing", "fail", "--json")
    const [first] = out.split("\n")
    expect([exitCode, JSON.parse(first ?? "")]).toMatchObject([1, { line: 1, result: "uncertain" }])
  })

  test("and answers with a wrong number of results is not asked again", async () => {
    let calls = 0
    await using service = await refusing(([first]) => {
      // A refusal ends the loop if the command asks again without end.
      return ++calls > 3
        ? problem(400, "invalidRequest", "again")
        : { body: { results: calls === 1 ? [created(first?.timerId ?? "")] : [] } }
    })
    const { exitCode, out, err } = await creating(service.url, `${line("a")}\n${line("b")}`)
    expect([exitCode, calls]).toEqual([1, 1])
    expect(out).toContain("line 1  failed  billing/a  the service answered 1 result for 2 timers")
    expect(err).toContain("stopped after line 2: the service answered 1 result for 2 timers")
  })

  test("that takes fewer at once gets smaller parts", async () => {
    const sizes: Array<number> = []
    await using service = await refusing((timers) => {
      sizes.push(timers.length)
      return timers.length > 2
        ? problem(400, "invalidRequest", "no", { errors: [{ pointer: "/timers", detail: "must be fewer" }] })
        : { body: { results: timers.map(({ timerId }) => created(timerId)) } }
    })
    const { exitCode } = await creating(
      service.url,
      ["a", "b", "c", "d", "e"].map((id) => line(id)).join("\n"),
    )
    expect([exitCode, sizes]).toEqual([0, [5, 3, 2, 2, 1]])
  })
})
