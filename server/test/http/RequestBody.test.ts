// Bodies within their bounds of size and time, and beyond them: each refusal is a problem document, and
// the service goes on as before.
import { describe, expect, test } from "bun:test"
import { defaultLimits } from "@punctual/api/Limits"
import { refused, succeeded } from "./answers.ts"
import { createHead, rawRequest } from "./rawRequest.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const create = {
  namespace: "bodies",
  timerId: "one",
  executeAt: "2031-01-01T00:00:00Z",
  callbackUrl: "http://localhost/",
}

/** A create of exactly so many bytes, of which blanks after it are the larger part. */
const createOf = (bytes: number): string => JSON.stringify(create).padEnd(bytes, " ")

const isUnharmed = async ({ call, pendingIn }: RunningService) => {
  expect(await pendingIn("bodies")).toBe(0)
  succeeded("create", await call("create", create))
  expect(await pendingIn("bodies")).toBe(1)
}

describe("size", () => {
  test("a body of the limit is read, one byte more is refused, declared or in chunks", () =>
    withService({}, async (running) => {
      const { bodyBytes } = defaultLimits
      const chunked = (text: string) =>
        rawRequest(running.port, [
          createHead("chunked"),
          `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
        ])
      refused(await running.call("create", createOf(bodyBytes + 1)), "bodyTooLarge")
      refused(await chunked(createOf(bodyBytes + 1)), "bodyTooLarge")
      await isUnharmed(running)
      succeeded("create", await running.call("create", createOf(bodyBytes)))
      succeeded("create", await chunked(createOf(bodyBytes)))
    }))

  test("createMany has a limit of its own", () =>
    withService({}, async ({ call }) => {
      const { createManyBodyBytes } = defaultLimits
      const body = JSON.stringify({ timers: [create] })
      succeeded("createMany", await call("createMany", body.padEnd(createManyBodyBytes, " ")))
      refused(await call("createMany", body.padEnd(createManyBodyBytes + 1, " ")), "bodyTooLarge")
    }))

  test("100 MB get a clean answer", () =>
    withService({}, async (running) => {
      const huge = new Uint8Array(100_000_000)
      refused(await rawRequest(running.port, [createHead(huge.byteLength), huge]), "bodyTooLarge")
      await isUnharmed(running)
    }))
})

describe("time", () => {
  test("a body that stops arriving is given up, declared or in chunks, too large or not", () =>
    withService({ bodyTimeoutMs: 50 }, async (running) => {
      refused(await rawRequest(running.port, [createHead(100), '{"namespace":']), "requestTimeout")
      refused(await rawRequest(running.port, [createHead("chunked"), '5\r\n{"nam\r\n']), "requestTimeout")
      refused(await rawRequest(running.port, [createHead(10_000_000), "x"]), "bodyTooLarge")
      await isUnharmed(running)
    }))

  test("many slow bodies end each at its own time", () =>
    withService({ bodyTimeoutMs: 50 }, async (running) => {
      const slow = () => rawRequest(running.port, [createHead(100), "{"])
      const answers = await Promise.all(Array.from({ length: 20 }, slow))
      for (const answer of answers) refused(answer, "requestTimeout")
      refused(await slow(), "requestTimeout")
      await isUnharmed(running)
    }))
})

test("a client that wants to be asked for its body is served", () =>
  withService({}, async ({ port }) => {
    const body = JSON.stringify(create)
    const head = createHead(body.length).replace("host:", "expect: 100-continue\r\nhost:")
    succeeded("create", await rawRequest(port, [head, body]))
  }))

test("more calls at once than are allowed are told to come back", () =>
  withService({ callsMax: 0 }, async ({ call }) => {
    refused(await call("create", create), "overloaded")
  }))
