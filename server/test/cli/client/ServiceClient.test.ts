// How commands call a service, and what they say when it refuses, is not there, is another program, or does not answer.

import { describe, expect, test } from "bun:test"
import { once } from "node:events"
import { createServer, type Socket } from "node:net"
import { CountTimersAnswer } from "@punctual/api/ListTimers"
import { jsonText, RawJson } from "@punctual/client"
import { Effect } from "effect"
import { callService } from "../../../src/cli/client/ServiceClient.ts"
import { problem, run, serviceThatAnswers, withoutKey } from "../CommandFixture.ts"

const counting = (url: string, withinMs?: number) =>
  Effect.runPromise(
    Effect.flip(
      callService(withoutKey(url), {
        path: "/timers/count",
        fields: {},
        answer: CountTimersAnswer,
        ...(withinMs === undefined ? {} : { withinMs }),
      }),
    ),
  )

describe("a service", () => {
  test("is asked by POST, below its URL, with or without a slash at the end", async () => {
    await using service = await serviceThatAnswers(() => ({ body: { count: 2, capped: false } }))
    for (const url of [service.url, `${service.url}/`, `${service.url}/behind//`]) {
      expect(await run(["timers", "count", "billing", "--url", url])).toEqual({
        exitCode: 0,
        out: "2\n",
        err: "",
      })
    }
    expect(service.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /api/v1/timers/count",
      "POST /api/v1/timers/count",
      "POST /behind/api/v1/timers/count",
    ])
  })

  test("is found by the environment variable, and a flag wins over it", async () => {
    await using service = await serviceThatAnswers(() => ({ body: { count: 2, capped: true } }))
    const here = await run(["timers", "count", "billing"], { environmentUrl: service.url })
    expect([here.exitCode, here.out]).toEqual([0, "2 or more\n"])
    const elsewhere = ["timers", "count", "billing", "--url", service.url]
    expect((await run(elsewhere, { environmentUrl: "http://127.0.0.1:1" })).exitCode).toBe(0)
    // An empty variable counts as not set: the command then complains about its flags and not about the URL.
    const { err } = await run(["timers", "update", "billing", "a"], { environmentUrl: "" })
    expect(err).toContain("Give at least one flag that changes the timer.")
  })

  test("that is not there is reported, with the URL that was tried", async () => {
    const service = await serviceThatAnswers(() => ({ body: "" }))
    await service[Symbol.asyncDispose]()
    const { exitCode, out, err } = await run(["timers", "count", "billing", "--url", service.url])
    expect([exitCode, out]).toEqual([1, ""])
    expect(err).toStartWith(`punctual timers count: the service at ${service.url} is unreachable (`)
    expect(err).toEndWith(
      "). Is it running? Start it with npm start or punctual serve. If it listens elsewhere, set TIMER_URL or --url.\n",
    )
  })

  test("that does not answer is waited for only until the time limit", async () => {
    const sockets: Array<Socket> = []
    const silent = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1")
    await once(silent, "listening")
    const address = silent.address()
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
    expect((await counting(url, 20)).message).toBe(
      `${url} did not answer within 0.02 s. It may have carried out the call.`,
    )
    for (const socket of sockets) socket.destroy()
    silent.close()
  })

  test("that refuses is quoted, with each wrong field and the time to retry", async () => {
    const refusals = [
      [problem(404, "timerNotFound", "There is none."), "refused (timerNotFound): There is none."],
      [
        problem(400, "invalidRequest", "/a is wrong (and 1 more)", {
          errors: [
            { pointer: "/target/url", detail: "must be a URL" },
            { pointer: "", detail: "must name a change" },
          ],
        }),
        "refused (invalidRequest): target.url must be a URL; must name a change.",
      ],
      [
        problem(429, "quotaExceeded", "Too many.", { retryAfterSeconds: 3 }),
        "refused (quotaExceeded): Too many. Retry after 3 s.",
      ],
    ] as const
    for (const [answer, words] of refusals) {
      await using service = await serviceThatAnswers(() => answer)
      expect((await counting(service.url)).message).toBe(words)
    }
  })

  test("of another version, or another program that answers there, is reported as such", async () => {
    await using older = await serviceThatAnswers(() => problem(404, "notFound", "See /docs."))
    expect((await counting(older.url)).message).toContain("its version is different")
    for (const answer of [{ body: "<html>" }, { body: {} }, { status: 502, body: "<html>" }]) {
      await using other = await serviceThatAnswers(() => answer)
      expect((await counting(other.url)).message).toContain(
        "Check that it is a Punctual service of the same version.",
      )
    }
  })

  test("cannot send control characters to the terminal, and no password is shown", async () => {
    await using service = await serviceThatAnswers(() => problem(503, "overloaded", "\u001b[2J gone"))
    expect((await counting(service.url)).message).toContain("\\u001b[2J gone")
    const silent = await counting("http://user:secret@127.0.0.1:1")
    expect(silent.message).not.toContain("secret")
  })

  test("is not called if the URL is not valid", async () => {
    for (const url of ["10.0.0.1:8080", "ftp://a", "http://a/?b=c"]) {
      for (const given of [{ args: ["--url", url] }, { args: [], environmentUrl: url }]) {
        const { exitCode, err } = await run(["timers", "count", "billing", ...given.args], given)
        expect([exitCode, err]).toEqual([2, expect.stringContaining("http://host:port")])
      }
    }
  })
})

test("a request omits fields that were not given, and takes JSON unchanged", () => {
  expect(jsonText({ a: 1, b: undefined, c: new RawJson("[ 1e2 ]"), d: null, e: "x" })).toBe(
    '{"a":1,"c":[ 1e2 ],"d":null,"e":"x"}',
  )
})
