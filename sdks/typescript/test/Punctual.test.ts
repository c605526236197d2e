// What only this library has: its options, hooks, logs, deadlines and the stream of events.
import { afterEach, describe, expect, test } from "bun:test"
import { withService } from "../../../server/test/http/ServiceFixture.ts"
import { admin } from "../src/admin.ts"
import type { Hooks, Transport } from "../src/core/options.ts"
import { PunctualError } from "../src/errors.ts"
import { Punctual } from "../src/Punctual.ts"
import { ScriptedClient } from "./ConformanceRun.ts"

const now = "2030-01-01T00:00:00.000Z"
const url = "http://service.test"

/** A transport that keeps the headers of each request. */
const keeping = (headers: Array<Record<string, string>>): Transport => {
  return async (_, request) => {
    headers.push(request.headers)
    return new Response('{"count":0,"capped":false}')
  }
}

describe("the options", () => {
  const saved = { ...process.env }
  afterEach(() => {
    for (const name of ["TIMER_URL", "TIMER_API_KEY"]) {
      const value = saved[name]
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })

  test("come from the environment if they are left out, and null means no key", async () => {
    process.env["TIMER_URL"] = `${url}/below/`
    process.env["TIMER_API_KEY"] = "pnct_environment"
    const sent: Array<Record<string, string>> = []
    const urls: Array<string> = []
    const transport: Transport = (place, request) => {
      urls.push(place)
      return keeping(sent)(place, request)
    }
    const keys = [undefined, "pnct_given", () => "pnct_read", null]
    for (const key of keys) await new Punctual({ key, namespace: "a", transport }).timers.count()
    expect(sent.map(({ authorization }) => authorization)).toEqual([
      "Bearer pnct_environment",
      "Bearer pnct_given",
      "Bearer pnct_read",
      undefined,
    ] as Array<string>)
    expect(urls[0]).toBe(`${url}/below/api/v1/timers/count`)
  })

  test("are checked when the client is made", () => {
    delete process.env["TIMER_URL"]
    expect(() => new Punctual()).toThrow("set TIMER_URL")
    for (const wrong of ["", "service:8080", "ftp://x", "http://user:secret@x", "http://x?a=1"]) {
      expect(() => new Punctual({ url: wrong })).toThrow(/url/)
    }
    expect(() => new Punctual({ url, timeoutMs: 0 })).toThrow("timeoutMs")
    expect(() => new Punctual({ url, maxRetries: 1.5 })).toThrow("maxRetries")
  })

  test("headers of the client and of the call are sent", async () => {
    const sent: Array<Record<string, string>> = []
    const punctual = new Punctual({
      url,
      namespace: "a",
      key: null,
      headers: { "x-a": "1" },
      transport: keeping(sent),
    })
    await punctual.timers.count({}, { headers: { "x-b": "2" } })
    expect(sent).toMatchObject([{ "x-a": "1", "x-b": "2", "content-type": "application/json" }])
  })

  test("a function for the key that fails ends the call with its own error", async () => {
    const fail = () => Promise.reject(new Error("the vault is closed"))
    const punctual = new Punctual({ url, namespace: "a", key: fail, transport: keeping([]) })
    await expect(punctual.timers.count()).rejects.toThrow("the vault is closed")
  })
})

describe("hooks and logs", () => {
  test("hooks see each try, and one that throws changes nothing", async () => {
    const seen: Array<unknown> = []
    const hooks: Hooks = {
      onRequest: ({ operation, attempt }) => void seen.push([operation, attempt]),
      onAnswer: ({ status, requestId }) => {
        seen.push([status, requestId])
        throw new Error("a mistake in the hook")
      },
      onFailure: ({ error }) => void seen.push(error.code),
    }
    const warnings: Array<string> = []
    const logger = { debug: () => undefined, warn: (text: string) => void warnings.push(text) }
    const tries = [
      { failure: "lost" as const },
      { headers: { "x-request-id": "r-1" }, body: '{"count":1,"capped":false}' },
    ]
    const { punctual } = new ScriptedClient(tries, now, { hooks, logger })
    expect((await punctual.timers.count()).count).toBe(1)
    expect(seen).toEqual([["timers.count", 1], "connectionLost", ["timers.count", 2], [200, "r-1"]])
    expect(warnings).toEqual(["punctual: a hook failed: Error: a mistake in the hook"])
  })

  test("a difference of the clocks is logged once, and its end too", async () => {
    const warnings: Array<string> = []
    const logger = { debug: () => undefined, warn: (text: string) => void warnings.push(text) }
    const late = { headers: { date: "Tue, 01 Jan 2030 00:01:00 GMT" } }
    const right = { headers: { date: "Tue, 01 Jan 2030 00:00:00 GMT" } }
    const { punctual } = new ScriptedClient([late, late, right], now, { logger })
    for (let call = 0; call < 3; call++) await punctual.exchange("service.get", {})
    expect(warnings.length).toBe(2)
    expect(warnings[0]).toContain("61 s ahead")
    expect(warnings[1]).toContain("agree again")
  })
})

test("a deadline that has passed sends nothing, and one that comes ends the try", async () => {
  const scripted = new ScriptedClient([{ failure: "timeout" }], now, { maxRetries: 0, timeoutMs: 60_000 })
  const { timers } = scripted.punctual
  const past = await timers.count({}, { deadline: new Date(now) }).catch((error: unknown) => error)
  expect(past).toMatchObject({ code: "timeout", written: "no" })
  expect(scripted.sent.length).toBe(0)
  const soon = new Date(Date.parse(now) + 1)
  expect(await timers.count({}, { deadline: soon }).catch((error: unknown) => error)).toMatchObject({
    code: "timeout",
  })
  expect(scripted.sent.length).toBe(1)
})

test("an update with ifRevision that was never sent has written nothing", async () => {
  const { punctual } = new ScriptedClient([], now, { maxRetries: 1 })
  const failed = await punctual.timers
    .update({ timerId: "a", tags: [], ifRevision: 1 })
    .catch((error: unknown) => error)
  expect(failed).toBeInstanceOf(PunctualError)
  expect(failed).toMatchObject({ name: "ConnectionError", written: "no" })
})

describe("the stream of events", () => {
  test("has what happens to timers, and ends with the reader", () =>
    withService({}, async ({ url: place }) => {
      const punctual = new Punctual({ url: place, namespace: "shop", key: null })
      const types: Array<unknown> = []
      for await (const { type, data } of admin(punctual).events.stream({
        namespaces: ["shop"],
        types: ["created"],
      })) {
        types.push(type)
        // The service says first which nodes it hears, so nothing is missed.
        if (type === "nodes")
          await punctual.timers.create({ timerId: "a", delay: "1h", callbackUrl: "http://127.0.0.1:9/" })
        if (type !== "created") continue
        expect(data).toMatchObject({ namespace: "shop", timerId: "a", state: "pending" })
        break
      }
      expect(types).toContain("created")
    }))

  test("ends with the caller's signal, and a refusal is an error", () =>
    withService({}, async ({ url: place }) => {
      const ending = new AbortController()
      const { events } = admin(new Punctual({ url: place, key: null }))
      const read = async () => {
        for await (const _ of events.stream({}, { signal: ending.signal })) ending.abort()
      }
      expect(await read().catch((error: unknown) => error)).toMatchObject({ code: "aborted", written: "no" })
      const wrong = events.stream({ types: ["no-such-type"] })[Symbol.asyncIterator]()
      expect(await wrong.next().catch((error: unknown) => error)).toMatchObject({ code: "invalidRequest" })
    }))
})
