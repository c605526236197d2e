// The answer to any malformed request is a 4xx problem document that says what to fix. Nothing is written, and the
// service continues as before.
import { describe, expect, test } from "bun:test"
import { pointersOf, refused, succeeded } from "./answers.ts"
import { createHead, rawRequest } from "./rawRequest.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const valid = {
  namespace: "malformed",
  timerId: "one",
  executeAt: "2031-01-01T00:00:00Z",
  callbackUrl: "http://localhost/hook",
}

const nothingWritten = async ({ call, pendingIn }: RunningService) => {
  expect(await pendingIn("malformed")).toBe(0)
  succeeded("create", await call("create", valid))
}

describe("bodies that are not JSON", () => {
  const bodies: Record<string, string> = {
    empty: "",
    blank: "  ",
    "cut off": JSON.stringify(valid).slice(0, -1),
    "a trailing comma": '{"namespace":"a",}',
    "single quotes": "{'namespace':'a'}",
    "bare words": "hello",
    "two values": "{}{}",
    "a control character in text": '{"namespace":"a\u0001"}',
    "an array that never ends": `[${"1,".repeat(50_000)}`,
  }
  for (const [name, body] of Object.entries(bodies)) {
    test(name, () =>
      withService({}, async (running) => {
        refused(await running.call("create", body), "invalidJson")
        await nothingWritten(running)
      }),
    )
  }

  test("invalid UTF-8", () =>
    withService({}, async (running) => {
      const body = Buffer.from(JSON.stringify({ ...valid, timerId: "\u00e9" }), "latin1")
      const problem = refused(await rawRequest(running.port, [createHead(body.length), body]), "invalidJson")
      expect(problem.detail).toContain("UTF-8")
      await nothingWritten(running)
    }))
})

describe("bodies that are not a create", () => {
  const changes: Record<string, [unknown, string]> = {
    "no object": [[], ""],
    null: [null, ""],
    "a number": [7, ""],
    "a namespace of another type": [{ ...valid, namespace: 7 }, "/namespace"],
    "a missing namespace": [{ ...valid, namespace: undefined }, "/namespace"],
    "a reserved namespace": [{ ...valid, namespace: "_x" }, "/namespace"],
    "an unknown field": [{ ...valid, exeuteAt: 1 }, "/exeuteAt"],
    "an unknown field named __proto__": [`{"__proto__":{},${JSON.stringify(valid).slice(1)}`, "/__proto__"],
    "an instant without an offset": [{ ...valid, executeAt: "2031-01-01T00:00:00" }, "/executeAt"],
    "the year 10000": [{ ...valid, executeAt: "10000-01-01T00:00:00Z" }, "/executeAt"],
    "the 30th of February": [{ ...valid, executeAt: "2031-02-30T00:00:00Z" }, "/executeAt"],
    "an instant as a number": [{ ...valid, executeAt: 1924992000000 }, "/executeAt"],
    "an instant too far ahead": [{ ...valid, executeAt: "2999-01-01T00:00:00Z" }, "/executeAt"],
    "two times": [{ ...valid, delay: "1s" }, "/delay"],
    "no time": [{ ...valid, executeAt: undefined }, "/executeAt"],
    "two targets": [{ ...valid, target: { type: "event" } }, "/target"],
    "a control character in an id": [{ ...valid, timerId: "a\u0000b" }, "/timerId"],
    // JSON.stringify writes the surrogate as an escape. A payload may contain one: see "byte for byte" of get.
    "a lone surrogate in an id": [{ ...valid, timerId: "a\ud800" }, "/timerId"],
    "a lone surrogate in a namespace": [{ ...valid, namespace: "a\ud800" }, "/namespace"],
    "a lone surrogate in a correlation id": [{ ...valid, correlationId: "\udc00a" }, "/correlationId"],
    "a lone surrogate in a URL": [{ ...valid, callbackUrl: "http://h/\ud800" }, "/callbackUrl"],
    "a lone surrogate in a header": [
      {
        ...valid,
        callbackUrl: undefined,
        target: { type: "webhook", url: "http://h/", headers: { "x-a": "\ud800" } },
      },
      "/target/headers/x-a",
    ],
    "a URL of another scheme": [{ ...valid, callbackUrl: "file:///etc/passwd" }, "/callbackUrl"],
    "a line break in a header": [
      {
        ...valid,
        callbackUrl: undefined,
        target: { type: "webhook", url: "http://h/", headers: { "x-a": "1\r\nx-b: 2" } },
      },
      "/target/headers/x-a",
    ],
    "a line break in a header's name": [
      {
        ...valid,
        callbackUrl: undefined,
        target: { type: "webhook", url: "http://h/", headers: { "x-a\r\nx": "1" } },
      },
      "/target/headers",
    ],
  }
  for (const [name, [body, pointer]] of Object.entries(changes)) {
    test(name, () =>
      withService({}, async (running) => {
        const problem = refused(await running.call("create", body), "invalidRequest")
        expect(pointersOf(problem).some((named) => named.startsWith(pointer))).toBe(true)
        await nothingWritten(running)
      }),
    )
  }

  test("every failure is named at once, and none repeats a sent value", () =>
    withService({}, async ({ call }) => {
      const secret = "correct horse battery staple \u0000"
      const answered = await call("create", {
        namespace: secret,
        timerId: secret,
        executeAt: secret,
        x: secret,
      })
      const problem = refused(answered, "invalidRequest")
      expect(pointersOf(problem)).toEqual(
        expect.arrayContaining(["/namespace", "/timerId", "/executeAt", "/x"]),
      )
      expect(answered.text).not.toContain("horse")
    }))

  const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`
  const withPayload = (payload: string) => `${JSON.stringify(valid).slice(0, -1)},"payload":${payload}}`

  test("a body may be nested 64 levels deep, small or large", () =>
    withService({}, async (running) => {
      const { call } = running
      for (const blanks of ["", " ".repeat(100_000)]) {
        const deep = (levels: number) => `[${nested(levels - 1)}${blanks}]`
        for (const levels of [64, 10_000]) {
          const answered = await call("create", withPayload(deep(levels)))
          expect(refused(answered, "invalidRequest").detail).toContain("64 levels")
          const many = `{"timers":[${JSON.stringify(valid)},${withPayload(deep(levels - 2))}]}`
          refused(await call("createMany", many), "invalidRequest")
        }
      }
      await nothingWritten(running)
      for (const blanks of ["", " ".repeat(50_000)]) {
        succeeded("create", await call("create", withPayload(`[${blanks}${nested(62)}]`)))
        const many = `{"timers":[${withPayload(`[${blanks}${nested(60)}]`)}]}`
        succeeded("createMany", await call("createMany", many))
      }
    }))

  test("endless nesting is refused", () =>
    withService({}, async (running) => {
      refused(await running.call("create", "[".repeat(500_000)), "invalidRequest")
      await nothingWritten(running)
    }))
})

describe("requests that reach no call", () => {
  test("an unknown path is 404, and another method is 405 with the allowed ones", () =>
    withService({}, async ({ fetch }) => {
      for (const path of [
        "/api/v1/timers",
        "/api/v1/timers/create/",
        "/API/v1/timers/create",
        "/api/v2/timers/create",
      ]) {
        refused(await fetch(path, { method: "POST", body: "{}" }), "notFound")
      }
      for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
        const answered = await fetch("/api/v1/timers/create", { method })
        refused(answered, "methodNotAllowed")
        expect(answered.headers.get("allow")).toBe("POST")
      }
      const answered = await fetch("/metrics", { method: "POST", body: "{}" })
      refused(answered, "methodNotAllowed")
      expect(answered.headers.get("allow")).toBe("GET, HEAD")
    }))

  test("HEAD and OPTIONS are answered without a body", () =>
    withService({}, async ({ fetch }) => {
      expect(await fetch("/health/live", { method: "HEAD" })).toMatchObject({ status: 200, text: "" })
      const options = await fetch("/api/v1/timers/create", { method: "OPTIONS" })
      expect([options.status, options.headers.get("allow"), options.text]).toEqual([204, "POST, OPTIONS", ""])
    }))

  test("only JSON in UTF-8 is accepted", () =>
    withService({}, async (running) => {
      const body = JSON.stringify(valid)
      for (const type of [
        "text/plain",
        "application/json; charset=latin1",
        "application/jsonx",
        "",
        // Many spaces would make the check slow.
        `application/json${" ".repeat(90)};`,
      ]) {
        refused(await running.call("create", body, { "content-type": type }), "unsupportedMediaType")
      }
      const head = createHead(body.length).replace("content-type: application/json\r\n", "")
      refused(await rawRequest(running.port, [head, body]), "unsupportedMediaType")
      await nothingWritten(running)
      for (const type of [
        "application/json; charset=utf-8",
        "Application/JSON;charset=UTF-8",
        'application/json; charset="utf-8"',
      ]) {
        succeeded("create", await running.call("create", body, { "content-type": type }))
      }
    }))

  test("a query string changes nothing", () =>
    withService({}, async ({ fetch }) => {
      expect((await fetch("/health/live?x=1")).status).toBe(200)
    }))
})

test("the last of duplicate keys counts", () =>
  withService({}, async ({ call }) => {
    const body = `{"timerId":"first",${JSON.stringify(valid).slice(1)}`
    expect(succeeded("create", await call("create", body)).timer.timerId).toBe("one")
  }))
