// Bodies within their limits of size and time, and beyond them. Each refusal is a problem document, and the service
// continues as before.
import { describe, expect, test } from "bun:test"
import { connect, type Socket } from "node:net"
import { defaultLimits } from "@punctual/api/Limits"
import type { BodyReceiver, HttpRequest, IncomingBody } from "@punctual/http/HttpRequest"
import { type BodyRead, defaultBodyOptions, RequestBodies } from "@punctual/http/RequestBody"
import { httpRequestOf } from "@punctual/http/testkit/httpRequestOf"
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
  /** Long enough that the body of a good request arrives in it on a slow machine. */
  const bodyTimeoutMs = 1_000

  test("a body that stops arriving is given up, declared or in chunks, too large or not", () =>
    withService({ bodyTimeoutMs }, async (running) => {
      refused(await rawRequest(running.port, [createHead(100), '{"namespace":']), "requestTimeout")
      refused(await rawRequest(running.port, [createHead("chunked"), '5\r\n{"nam\r\n']), "requestTimeout")
      refused(await rawRequest(running.port, [createHead(10_000_000), "x"]), "bodyTooLarge")
      await isUnharmed(running)
    }))

  test("many slow bodies end, each at its own time", () =>
    withService({ bodyTimeoutMs }, async (running) => {
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

  const options = {
    timeoutMs: 10_000,
    smallBytes: 10,
    heldBytesMax: 100,
    heldBytesPerAddressMax: 90,
    stalledAfterMs: 1_000,
  }

  /** A request whose body comes when the test says so. */
  const pacedRequest = (declaredBytes: number | undefined, addressGroup = "10.0.0.1") => {
    let receiver: BodyReceiver | undefined
    const body: IncomingBody = {
      declaredBytes,
      arrived: undefined,
      receive: (given) => {
        receiver = given
      },
    }
    return {
      request: httpRequestOf({ method: "POST", target: "/", body, addressGroup }),
      send: (bytes: number) => receiver?.chunk(new Uint8Array(bytes)),
      end: () => receiver?.end(),
    }
  }
  /** A request whose body came with its head. */
  const arrivedRequest = (bytes: number) => {
    const arrived = new Uint8Array(bytes)
    const body: IncomingBody = {
      declaredBytes: bytes,
      arrived,
      receive: (receiver) => {
        receiver.chunk(arrived)
        receiver.end()
      },
    }
    const request = httpRequestOf({ method: "POST", target: "/", body, addressGroup: "10.0.0.1" })
    return { request, send: () => undefined, end: () => undefined }
  }
  const outcomeOf = (read: BodyRead) => {
    if ("bytes" in read) return read.bytes.byteLength
    const { problem } = read
    return "written" in problem ? `${problem.code}, written: ${problem.written}` : problem.code
  }
  const read = (bodies: RequestBodies, request: HttpRequest) =>
    bodies.withBody(request, 80, async (body) => outcomeOf(body))

  test("after the call of a large body has ended, and only then, the runtime is asked to free memory", async () => {
    let asked = 0
    const bodies = new RequestBodies({ ...options, afterLarge: { bytes: 50, run: () => asked++ } })
    const { promise, resolve } = Promise.withResolvers<void>()
    const large = pacedRequest(51)
    const answered = bodies.withBody(large.request, 80, () => promise)
    large.send(51)
    large.end()
    await Promise.resolve()
    expect(asked).toBe(0)
    resolve()
    await answered
    expect(asked).toBe(1)
    const smaller = pacedRequest(50)
    const smallerRead = read(bodies, smaller.request)
    smaller.send(50)
    smaller.end()
    await smallerRead
    expect(asked).toBe(1)
  })

  test("received bytes count, up to the limit, until their request is answered", async () => {
    const bodies = new RequestBodies(options)
    const first = pacedRequest(80)
    const held = read(bodies, first.request)
    first.send(60)
    first.send(1)
    const second = pacedRequest(undefined, "10.0.0.2")
    const refusedRead = read(bodies, second.request)
    second.send(50)
    expect(await refusedRead).toBe("overloaded, written: no")
    // Small bodies have their own room.
    const small = pacedRequest(10)
    const smallRead = read(bodies, small.request)
    small.send(10)
    small.end()
    expect(await smallRead).toBe(10)
    first.send(19)
    first.end()
    expect(await held).toBe(80)
    const third = pacedRequest(80)
    const thirdRead = read(bodies, third.request)
    third.send(80)
    third.end()
    expect(await thirdRead).toBe(80)
  })

  for (const state of ["unfinished", "finished", "arrived at once"] as const) {
    test(`the ${state} bodies of one address have a limit of their own, and leave room for others`, async () => {
      const bodies = new RequestBodies({ ...options, heldBytesPerAddressMax: 60 })
      const call = Promise.withResolvers<void>()
      const first = state === "arrived at once" ? arrivedRequest(50) : pacedRequest(80)
      const held = bodies.withBody(first.request, 80, (body) => call.promise.then(() => outcomeOf(body)))
      if (state !== "arrived at once") first.send(50)
      if (state === "finished") first.end()
      const same = pacedRequest(80)
      const sameRead = read(bodies, same.request)
      same.send(11)
      expect(await sameRead).toBe("overloaded, written: no")
      const other = pacedRequest(50, "10.0.0.2")
      const otherRead = read(bodies, other.request)
      other.send(50)
      other.end()
      expect(await otherRead).toBe(50)
      // An answered call frees the room of its address.
      if (state === "unfinished") first.end()
      call.resolve()
      expect(await held).toBe(50)
      const next = pacedRequest(80)
      const nextRead = read(bodies, next.request)
      next.send(60)
      next.end()
      expect(await nextRead).toBe(60)
    })
  }

  test("a body in tiny pieces is collected as it was sent", async () => {
    const bodies = new RequestBodies({ ...options, smallBytes: 0 })
    let receiver: BodyReceiver | undefined
    const body: IncomingBody = {
      declaredBytes: undefined,
      arrived: undefined,
      receive: (given) => {
        receiver = given
      },
    }
    const text = bodies.withBody(httpRequestOf({ target: "/", body }), 80, async (whole) =>
      "bytes" in whole ? Buffer.from(whole.bytes).toString() : "",
    )
    for (const letter of "a body in tiny pieces") receiver?.chunk(Buffer.from(letter))
    receiver?.end()
    expect(await text).toBe("a body in tiny pieces")
  })

  test("a body that has stalled gives way to others, the longest first, and those that arrive do not", async () => {
    let nowMs = 0
    const bodies = new RequestBodies(options, () => nowMs)
    const stalled = [2, 3, 4, 5].map((number) => pacedRequest(80, `10.0.0.${number}`))
    const reads = stalled.map(({ request }) => read(bodies, request))
    for (const { send } of stalled) {
      send(25)
      nowMs += 100
    }
    const early = pacedRequest(80, "10.0.0.6")
    const earlyRead = read(bodies, early.request)
    early.send(25)
    expect(await earlyRead).toBe("overloaded, written: no")
    nowMs = 1_100
    const prompt = pacedRequest(50, "10.0.0.6")
    const promptRead = read(bodies, prompt.request)
    // A single byte is not progress.
    stalled[0]?.send(1)
    stalled[1]?.send(1)
    prompt.send(25)
    prompt.send(25)
    prompt.end()
    expect(await promptRead).toBe(50)
    expect(await Promise.all(reads.slice(0, 2))).toEqual([
      "overloaded, written: no",
      "overloaded, written: no",
    ])
    for (const { send, end } of stalled.slice(2)) {
      send(5)
      end()
    }
    expect(await Promise.all(reads.slice(2))).toEqual([30, 30])
  })

  test("at the limit of its address, a body gets room only from bodies of the same address", async () => {
    let nowMs = 0
    const bodies = new RequestBodies({ ...options, heldBytesPerAddressMax: 50 }, () => nowMs)
    const other = pacedRequest(80, "10.0.0.2")
    const otherRead = read(bodies, other.request)
    other.send(40)
    const own = pacedRequest(80)
    const ownRead = read(bodies, own.request)
    own.send(40)
    nowMs = 1_000
    const next = pacedRequest(40)
    const nextRead = read(bodies, next.request)
    next.send(40)
    next.end()
    expect([await ownRead, await nextRead]).toEqual(["overloaded, written: no", 40])
    other.end()
    expect(await otherRead).toBe(40)
  })

  test("a body that has arrived does not give way, however long its call takes", async () => {
    let nowMs = 0
    const bodies = new RequestBodies(options, () => nowMs)
    const call = Promise.withResolvers<void>()
    const first = pacedRequest(80)
    const held = bodies.withBody(first.request, 80, (body) => call.promise.then(() => outcomeOf(body)))
    first.send(80)
    first.end()
    nowMs = 60_000
    const second = pacedRequest(80, "10.0.0.2")
    const secondRead = read(bodies, second.request)
    second.send(30)
    expect(await secondRead).toBe("overloaded, written: no")
    call.resolve()
    expect(await held).toBe(80)
  })

  test("a body that is given up, or too large, frees its room", async () => {
    const bodies = new RequestBodies({ ...options, timeoutMs: 20 })
    const slow = pacedRequest(80)
    const givenUp = read(bodies, slow.request)
    slow.send(80)
    expect(await givenUp).toBe("requestTimeout")
    const large = pacedRequest(undefined)
    const tooLarge = read(bodies, large.request)
    large.send(70)
    large.send(70)
    const next = pacedRequest(80)
    const nextRead = read(bodies, next.request)
    next.send(80)
    next.end()
    expect(await nextRead).toBe(80)
    large.end()
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
