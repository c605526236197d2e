// Bodies that are too large are refused as soon as this is known. All limits of bodies together with a real service are
// in server/test/http.
import { describe, expect, test } from "bun:test"
import type { BodyReceiver, HttpRequest, IncomingBody } from "../src/HttpRequest.ts"
import { problemResponse } from "../src/problemResponse.ts"
import { type BodyRead, RequestBodies } from "../src/RequestBody.ts"
import { httpRequestOf } from "../testkit/httpRequestOf.ts"
import { ConnectionRig, turn } from "./listener/ConnectionRig.ts"

const maxBytes = 80

/** No test waits as long as these bodies may take. */
const options = {
  timeoutMs: 600_000,
  smallBytes: 10,
  heldBytesMax: 200,
  heldBytesPerAddressMax: 100,
  stalledAfterMs: 600_000,
}

/** A request whose body comes when the test says so. */
const pacedRequest = (declaredBytes: number | undefined) => {
  const seen: { receiver: BodyReceiver | undefined } = { receiver: undefined }
  const body: IncomingBody = {
    declaredBytes,
    arrived: undefined,
    receive: (given) => {
      seen.receiver = given
    },
  }
  return { seen, request: httpRequestOf({ method: "POST", target: "/", body, addressGroup: "10.0.0.1" }) }
}

const outcomeOf = (read: BodyRead) => ("bytes" in read ? read.bytes.byteLength : read.problem.code)

/** What was read after one turn of the event loop. */
const readSoon = (bodies: RequestBodies, request: HttpRequest, during = () => {}) => {
  const outcome = bodies.withBody(request, maxBytes, async (read) => outcomeOf(read))
  during()
  return Promise.race([outcome, turn().then(() => "not answered")])
}

describe("a declared length", () => {
  test("above the limit is refused at once, and nothing of the body is received", async () => {
    for (const declaredBytes of [maxBytes + 1, 2_000_000_000]) {
      const { request, seen } = pacedRequest(declaredBytes)
      expect(await readSoon(new RequestBodies(options), request)).toBe("bodyTooLarge")
      expect(seen.receiver).toBeUndefined()
    }
  })

  test("of exactly the limit is received", async () => {
    const { request, seen } = pacedRequest(maxBytes)
    const read = await readSoon(new RequestBodies(options), request, () => {
      seen.receiver?.chunk(new Uint8Array(maxBytes))
      seen.receiver?.end()
    })
    expect(read).toBe(maxBytes)
  })

  test("does not count for its address, refused or not", async () => {
    const bodies = new RequestBodies(options)
    for (let count = 0; count < 10; count++) {
      expect(await readSoon(bodies, pacedRequest(2_000_000_000).request)).toBe("bodyTooLarge")
      expect(await readSoon(bodies, pacedRequest(maxBytes).request)).toBe("not answered")
    }
    const { request, seen } = pacedRequest(maxBytes)
    const read = await readSoon(bodies, request, () => {
      seen.receiver?.chunk(new Uint8Array(maxBytes))
      seen.receiver?.end()
    })
    expect(read).toBe(maxBytes)
  })
})

describe("a body in chunks", () => {
  test("is refused as soon as it has passed the limit, before its end, and frees its room", async () => {
    const bodies = new RequestBodies(options)
    for (let count = 0; count < 5; count++) {
      const { request, seen } = pacedRequest(undefined)
      const read = await readSoon(bodies, request, () => {
        seen.receiver?.chunk(new Uint8Array(maxBytes))
        seen.receiver?.chunk(new Uint8Array(1))
      })
      expect(read).toBe("bodyTooLarge")
      // What comes before the connection closes is dropped.
      seen.receiver?.chunk(new Uint8Array(1_000))
      seen.receiver?.end()
    }
  })

  test("of exactly the limit is awaited to its end", async () => {
    const bodies = new RequestBodies(options)
    const { request, seen } = pacedRequest(undefined)
    const full = () => seen.receiver?.chunk(new Uint8Array(maxBytes))
    expect(await readSoon(bodies, request, full)).toBe("not answered")
    const ended = pacedRequest(undefined)
    const read = await readSoon(new RequestBodies(options), ended.request, () => {
      ended.seen.receiver?.chunk(new Uint8Array(maxBytes))
      ended.seen.receiver?.end()
    })
    expect(read).toBe(maxBytes)
  })
})

describe("on a connection, a body that is too large", () => {
  /** The client sends these parts, and a route wants the body of its request. */
  const answered = async (...parts: ReadonlyArray<string>) => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    const [head = "", ...rest] = parts
    wire.send(head)
    const { request, answer } = rig.at(0)
    void new RequestBodies(options).withBody(request, maxBytes, async (read) => {
      await answer("problem" in read ? problemResponse(read.problem) : { status: 200, body: "read" })
    })
    for (const part of rest) wire.send(part)
    await turn()
    await turn()
    return { wire, rig }
  }
  const headOf = (headers: string) => `POST / HTTP/1.1\r\nHost: h\r\n${headers}\r\n`

  for (const [name, parts] of Object.entries({
    "by its declared length": [headOf("Content-Length: 2000000000\r\n")],
    "by its declared length, with its first byte": [`${headOf("Content-Length: 2000000000\r\n")}{`],
    "by its declared length, before 100 Continue": [headOf("Content-Length: 81\r\nExpect: 100-continue\r\n")],
    "by its chunks": [headOf("Transfer-Encoding: chunked\r\n"), `51\r\n${"x".repeat(81)}\r\n`],
    "within a chunk": [headOf("Transfer-Encoding: chunked\r\n"), `7fffffff\r\n${"x".repeat(81)}`],
  })) {
    test(`${name}: the client gets 413 and nothing else, and may read it before the connection closes`, async () => {
      const { wire, rig } = await answered(...parts)
      expect([wire.statuses, wire.state, wire.isPaused]).toEqual([[413], "shutdown", false])
      expect(wire.received).toContain("connection: close\r\n")
      expect(wire.received).toContain("content-type: application/problem+json\r\n")
      expect(wire.received).toContain('"code":"bodyTooLarge"')
      expect(rig.connections.ahead.bytes).toBe(0)
      // The rest of the body is no request.
      wire.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      expect([wire.statuses, wire.state, rig.requests.length]).toEqual([[413], "shutdown", 1])
    })
  }

  test("and has arrived whole: the connection stays open for the next request", async () => {
    const { wire } = await answered(`${headOf("Content-Length: 81\r\n")}${"x".repeat(81)}`)
    expect([wire.statuses, wire.state]).toEqual([[413], "open"])
  })
})
