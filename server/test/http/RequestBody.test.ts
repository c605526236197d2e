// Bodies within their limits of size and time, and beyond them. Each refusal is a problem document, and the service
// continues as before.
import { describe, expect, test } from "bun:test"
import { connect, type Socket } from "node:net"
import { defaultLimits } from "@punctual/api/Limits"
import { type BodyRead, defaultBodyOptions, RequestBodies } from "../../src/http/RequestBody.ts"
import { refused, succeeded } from "./answers.ts"
import { createHead, rawRequest } from "./rawRequest.ts"
import { type RunningService, withService } from "./ServiceFixture.ts"

const create = {
  namespace: "bodies",
  timerId: "one",
  executeAt: "2031-01-01T00:00:00Z",
  callbackUrl: "http://localhost/",
}

/** A create of exactly this many bytes. Most of them are blanks after the JSON. */
const createOf = (bytes: number): string => JSON.stringify(create).padEnd(bytes, " ")

const isUnharmed = async ({ call, pendingIn }: RunningService) => {
  expect(await pendingIn("bodies")).toBe(0)
  succeeded("create", await call("create", create))
  expect(await pendingIn("bodies")).toBe(1)
}

describe("size", () => {
  test("a body of exactly the limit is read, and one byte more is refused, declared or in chunks", () =>
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

  test("createMany has its own limit", () =>
    withService({}, async ({ call }) => {
      const { createManyBodyBytes } = defaultLimits
      const body = JSON.stringify({ timers: [create] })
      succeeded("createMany", await call("createMany", body.padEnd(createManyBodyBytes, " ")))
      refused(await call("createMany", body.padEnd(createManyBodyBytes + 1, " ")), "bodyTooLarge")
    }))

  test("a body of 100 MB gets a proper answer", () =>
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

  test("many slow bodies end, each at its own time", () =>
    withService({ bodyTimeoutMs: 50 }, async (running) => {
      const slow = () => rawRequest(running.port, [createHead(100), "{"])
      const answers = await Promise.all(Array.from({ length: 20 }, slow))
      for (const answer of answers) refused(answer, "requestTimeout")
      refused(await slow(), "requestTimeout")
      await isUnharmed(running)
    }))
})

describe("all bodies together", () => {
  /** Announces a body, is asked for it, and sends only its first byte. */
  const announce = (port: number, bytes: number): Promise<Socket> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1")
      socket.on("error", () => undefined)
      socket.once("data", () => {
        socket.write("{")
        resolve(socket)
      })
      socket.write(
        createHead(bytes).replace("create ", "createMany ").replace("host:", "expect: 100-continue\r\nhost:"),
      )
    })

  test("large bodies that are announced and never sent do not block other requests", () =>
    withService({}, async (running) => {
      const { createManyBodyBytes } = defaultLimits
      const count = defaultBodyOptions.heldBytesMax / createManyBodyBytes + 1
      const slow = await Promise.all(
        Array.from({ length: count }, () => announce(running.port, createManyBodyBytes)),
      )
      try {
        await isUnharmed(running)
        succeeded("create", await running.call("create", createOf(defaultBodyOptions.smallBytes + 1)))
      } finally {
        for (const socket of slow) socket.destroy()
      }
    }))

  const options = { timeoutMs: 10_000, smallBytes: 10, heldBytesMax: 100, discardBytesMax: 1_000 }

  /** A request whose body comes when the test says so. */
  const pacedRequest = (declaredBytes: number | undefined) => {
    const pipe = new TransformStream<Uint8Array, Uint8Array>()
    const writer = pipe.writable.getWriter()
    const headers = declaredBytes === undefined ? {} : { "content-length": String(declaredBytes) }
    return {
      request: new Request("http://h/", { method: "POST", headers, body: pipe.readable }),
      /** Settles when the server has read the bytes. */
      send: (bytes: number) => writer.write(new Uint8Array(bytes)),
      end: () => writer.close(),
    }
  }
  const outcomeOf = (read: BodyRead) => {
    if ("bytes" in read) return read.bytes.byteLength
    const { problem } = read
    return "written" in problem ? `${problem.code}, written: ${problem.written}` : problem.code
  }
  const read = (bodies: RequestBodies, request: Request) =>
    bodies.withBody(request, 80, async (body) => outcomeOf(body))

  test("received bytes count, up to the limit, until their request is answered", async () => {
    const bodies = new RequestBodies(options)
    const first = pacedRequest(80)
    const held = read(bodies, first.request)
    await first.send(60)
    await first.send(1)
    const second = pacedRequest(undefined)
    const refusedRead = read(bodies, second.request)
    await second.send(50).catch(() => undefined)
    expect(await refusedRead).toBe("overloaded, written: no")
    // Small bodies have their own room.
    const small = pacedRequest(10)
    const smallRead = read(bodies, small.request)
    await small.send(10)
    await small.end()
    expect(await smallRead).toBe(10)
    await first.send(19)
    await first.end()
    expect(await held).toBe(80)
    const third = pacedRequest(80)
    const thirdRead = read(bodies, third.request)
    await third.send(80)
    await third.end()
    expect(await thirdRead).toBe(80)
  })

  test("a body that is given up, or too large, frees its room", async () => {
    const bodies = new RequestBodies({ ...options, timeoutMs: 20 })
    const slow = pacedRequest(80)
    const givenUp = read(bodies, slow.request)
    await slow.send(80)
    expect(await givenUp).toBe("requestTimeout")
    const large = pacedRequest(undefined)
    const tooLarge = read(bodies, large.request)
    await large.send(70)
    await large.send(70)
    const next = pacedRequest(80)
    const nextRead = read(bodies, next.request)
    await next.send(80)
    await next.end()
    expect(await nextRead).toBe(80)
    await large.end()
    expect(await tooLarge).toBe("bodyTooLarge")
  })
})

test("a client that waits for 100 Continue is served", () =>
  withService({}, async ({ port }) => {
    const body = JSON.stringify(create)
    const head = createHead(body.length).replace("host:", "expect: 100-continue\r\nhost:")
    succeeded("create", await rawRequest(port, [head, body]))
  }))

test("calls beyond the allowed number at once are told to retry later", () =>
  withService({ callsMax: 0 }, async ({ call }) => {
    expect(refused(await call("create", create), "overloaded").written).toBe("no")
  }))
