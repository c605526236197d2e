// One connection: its requests are answered in order, and a client that sends, reads or waits too slowly has limits.
import { describe, expect, test } from "bun:test"
import { eventually } from "@punctual/server/testkit/eventually"
import type { BodyReceiver } from "../../src/HttpRequest.ts"
import {
  aheadPerTurn,
  type ConnectionLimits,
  largeAnswersPerTurn,
  readBytesMin,
  sentBytesMin,
  smallBodyPartBytes,
  smallPartsPerTurn,
  turnUnits,
  unitsPerRequest,
} from "../../src/listener/ConnectionLimits.ts"
import { smallReadBytes } from "../../src/listener/ReadPace.ts"
import { ConnectionRig, turn } from "./ConnectionRig.ts"

const get = (path: string, headers = "") => `GET ${path} HTTP/1.1\r\nHost: h\r\n${headers}\r\n`
const post = (path: string, length: number, headers = "") =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n${headers}\r\n`
const nothing: BodyReceiver = { chunk: () => undefined, end: () => undefined, broken: () => undefined }

/** What a route receives of a body. */
const received = () => {
  const seen = { text: "", state: "open" }
  const receiver: BodyReceiver = {
    chunk: (bytes) => {
      seen.text += Buffer.from(bytes).toString()
    },
    end: () => {
      seen.state = "ended"
    },
    broken: () => {
      seen.state = "broken"
    },
  }
  return { seen, receiver }
}

describe("requests that are sent ahead", () => {
  test("are answered in order, one at a time, and nothing more is read meanwhile", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(`${get("/1") + post("/2", 2)}{}${get("/3").slice(0, 10)}`)
    expect(rig.requests.map(({ request }) => request.path)).toEqual(["/1"])
    expect(wire.isPaused).toBe(true)
    await rig.at(0).answer()
    expect(rig.requests.map(({ request }) => request.path)).toEqual(["/1", "/2"])
    expect(Buffer.from(rig.at(1).request.body.arrived ?? []).toString()).toBe("{}")
    await rig.at(1).answer()
    expect(wire.isPaused).toBe(false)
    wire.send(get("/3").slice(10))
    await rig.at(2).answer()
    expect(wire.bodies).toEqual(["answer to /1", "answer to /2", "answer to /3"])
    expect(wire.state).toBe("open")
  })

  test("are answered in one write if their answers are ready in one turn", async () => {
    const rig = new ConnectionRig()
    rig.answersAtOnce = ({ path }) => ({ status: 200, headers: {}, body: path })
    const wire = rig.connect()
    wire.send(get("/1") + get("/2") + get("/3"))
    await turn()
    expect(wire.bodies).toEqual(["/1", "/2", "/3"])
    expect(wire.writes).toBe(1)
  })

  test("run a few in each turn of the event loop, however many connections send them", async () => {
    const rig = new ConnectionRig()
    rig.answersAtOnce = ({ path }) => ({ status: 200, headers: {}, body: path })
    const [perTurnMax, connections] = [turnUnits / unitsPerRequest, 10]
    const each = perTurnMax
    const wires = Array.from({ length: connections }, () => rig.connect())
    const sent = Array.from({ length: each }, (_, index) => get(`/${index}`)).join("")
    for (const wire of wires) wire.send(sent)
    const perTurn: Array<number> = []
    for (let started = 0; started < each * connections; started = rig.requests.length) {
      await turn()
      perTurn.push(rig.requests.length - started)
    }
    await turn()
    // One turn of the test may see the ends of two turns of the connections.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * perTurnMax)
    expect(perTurn.length).toBeGreaterThanOrEqual(connections / 2)
    for (const wire of wires) {
      expect(wire.bodies).toEqual(Array.from({ length: each }, (_, index) => `/${index}`))
    }
  })

  test("run at a slow pace, and the requests of clients that wait for their answers do not wait behind them", async () => {
    const rig = new ConnectionRig()
    rig.answersAtOnce = ({ path }) => ({ status: 200, headers: {}, body: path })
    rig.holdsTurns = true
    rig.connect("10.0.0.1").send(get("/ahead").repeat(3 * aheadPerTurn))
    await turn()
    await turn()
    // The first request of what arrived is not ahead of an answer.
    expect(rig.requests.length).toBe(1 + aheadPerTurn)
    rig.connect("10.0.0.1").send(get("/patient"))
    expect(rig.requests.at(-1)?.request.path).toBe("/patient")
    for (const aheadTurns of [2, 3]) {
      rig.beginTurns()
      await turn()
      await turn()
      expect(rig.requests.length).toBe(Math.min(2 + aheadTurns * aheadPerTurn, 3 * aheadPerTurn + 1))
    }
  })

  test("with large answers wait for turns with room, and all are answered", async () => {
    const rig = new ConnectionRig()
    const large = "x".repeat(turnUnits / 4)
    rig.answersAtOnce = () => ({ status: 200, headers: {}, body: large })
    const wires = Array.from({ length: 8 }, () => rig.connect())
    for (const wire of wires) wire.send(get("/large").repeat(4))
    const written = () => wires.reduce((sum, { received }) => sum + received.length, 0)
    const perTurn: Array<number> = []
    for (let before = 0; before < 32 * large.length; before = written()) {
      await turn()
      perTurn.push(written() - before)
    }
    // The last answer of a turn may go over its budget.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(2 * (turnUnits + 2 * large.length))
    for (const wire of wires) expect(wire.statuses).toEqual([200, 200, 200, 200])
  })

  test("with large answers are sent at a slow pace, and small answers do not wait behind them", async () => {
    const rig = new ConnectionRig()
    rig.holdsTurns = true
    const large = new Uint8Array(largeAnswersPerTurn / 2)
    rig.answersAtOnce = ({ path }) => ({
      status: 200,
      headers: {},
      body: path === "/large" ? large : "small",
    })
    const wires = Array.from({ length: 8 }, () => rig.connect())
    for (const wire of wires) wire.send(get("/large"))
    const answered = () => wires.filter(({ statuses }) => statuses.length > 0).length
    for (let turns = 0; turns < 20; turns++) await turn()
    expect(answered()).toBe(2)
    const patient = rig.connect()
    patient.send(get("/small"))
    await turn()
    expect(patient.bodies).toEqual(["small"])
    for (const expected of [4, 6, 8]) {
      rig.beginTurns()
      for (let turns = 0; turns < 20; turns++) await turn()
      expect(answered()).toBe(expected)
    }
  })

  test("with large answers count as unread while they wait for their turn, and the client has all its time", async () => {
    const rig = new ConnectionRig({ unreadBytesMax: 4 * largeAnswersPerTurn, readMs: 1_000 })
    rig.holdsTurns = true
    const large = new Uint8Array(largeAnswersPerTurn)
    rig.answersAtOnce = () => ({ status: 200, headers: {}, body: large })
    const wires = Array.from({ length: 3 }, () => rig.connect())
    for (const wire of wires) wire.send(get("/large"))
    for (let turns = 0; turns < 5; turns++) await turn()
    // One address may have a quarter of the limit, and a head goes beyond it.
    expect(wires.map(({ state }) => state)).toEqual(["open", "terminated", "terminated"])
    const small = rig.connect("10.0.0.2")
    rig.answersAtOnce = () => ({ status: 200, headers: {}, body: large.subarray(0, 100_000) })
    small.send(get("/"))
    await turn()
    rig.pass(5_000)
    expect([small.state, small.statuses]).toEqual(["open", []])
    for (let turns = 0; turns < 5; turns++) rig.beginTurns()
    await turn()
    expect(small.statuses).toEqual([200])
    expect(rig.connections.unread.bytes).toBe(0)
  })

  test("with large answers give the client all its time, also if a part was sent before the rest waits", async () => {
    const rig = new ConnectionRig({ readMs: 1_000 })
    rig.holdsTurns = true
    const { largeAnswersTurn } = rig.connections
    const large = new Uint8Array(3 * readBytesMin)
    rig.answersAtOnce = () => ({ status: 200, headers: {}, body: large })
    const wire = rig.connect()
    wire.room = 1_000
    wire.send(get("/large"))
    await turn()
    expect(wire.received.length).toBe(1_000)
    largeAnswersTurn.spend(2 * largeAnswersPerTurn)
    wire.read(readBytesMin - 1)
    rig.pass(5_000)
    expect([wire.state, wire.received.length]).toEqual(["open", 1_000])
    // Its turn comes, and its time begins.
    for (let turns = 0; turns < 3; turns++) rig.beginTurns()
    expect(wire.received.length).toBe(1_000 + readBytesMin - 1)
    rig.pass(999)
    expect(wire.state).toBe("open")
    rig.pass(1)
    expect([wire.state, rig.metrics.closed]).toEqual(["terminated", ["unread"]])
  })

  test("are dropped if they are too many bytes, and the running answer says that the connection closes", async () => {
    const rig = new ConnectionRig({ aheadBytesMax: 400 })
    const wire = rig.connect()
    wire.send(get("/1") + get("/2").repeat(10))
    await rig.at(0).answer()
    expect(wire.bodies).toEqual(["answer to /1"])
    expect(wire.received).toContain("connection: close")
    expect([wire.state, rig.requests.length, rig.connections.ahead.bytes]).toEqual(["shutdown", 1, 0])
    expect(rig.metrics.closed).toEqual(["bytes"])
  })

  test("keep only the memory that they need, and a small body keeps no large read", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    const small = "x".repeat(100)
    wire.send(post("/1", 200_000) + "x".repeat(200_000) + post("/2", 100) + small + post("/3", 100) + small)
    expect(rig.connections.ahead.bytes).toBeLessThan(400)
    await rig.at(0).answer()
    wire.send(post("/4", 100) + small + post("/5", 200_000) + "x".repeat(100_000))
    await rig.at(1).answer()
    await rig.at(2).answer()
    expect(rig.requests.length).toBe(4)
    const arrived = rig.requests.map(({ request }) => request.body.arrived)
    for (const body of arrived.slice(1)) {
      expect(body?.length).toBe(100)
      expect(body?.buffer.byteLength).toBeLessThan(smallReadBytes)
    }
    expect(arrived[0]?.length).toBe(200_000)
  })

  test("are not read after a malformed one, and those before it are answered", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(`${get("/1")}nonsense\r\n\r\n${get("/2")}`)
    expect(wire.statuses).toEqual([])
    await rig.at(0).answer()
    expect(wire.statuses).toEqual([200, 400])
    expect(wire.received).toContain("content-type: application/problem+json")
    expect(wire.received).toContain('"code":"malformedRequest"')
    wire.send(get("/3"))
    expect([wire.state, rig.requests.length]).toEqual(["shutdown", 1])
  })
})

describe("heads that come in parts", () => {
  const begun = get("/").slice(0, 10)
  const rest = get("/").slice(10)
  /** Each of these connections has sent the first part of a head. */
  const rigWith = (connections: number) => {
    const rig = new ConnectionRig()
    rig.holdsTurns = true
    const wires = Array.from({ length: connections }, () => rig.connect("10.0.0.1"))
    for (const wire of wires) wire.send(begun)
    return { rig, wires, paused: () => wires.filter(({ isPaused }) => isPaused).length }
  }

  test("are read at a slow pace if there are many, and the addresses of clients take turns", () => {
    const { rig, wires, paused } = rigWith(3 * smallPartsPerTurn)
    expect(paused()).toBe(2 * smallPartsPerTurn)
    const other = rig.connect("10.0.0.2")
    other.send(begun)
    expect(other.isPaused).toBe(true)
    rig.beginTurns()
    expect([other.isPaused, paused()]).toEqual([false, smallPartsPerTurn + 1])
    // What is read in the same turn waits again.
    for (const wire of wires) if (!wire.isPaused) wire.send("x")
    expect(paused()).toBe(3 * smallPartsPerTurn)
    other.send(rest)
    expect(rig.requests.length).toBe(1)
  })

  test("wait for nobody if there are few", () => {
    const { rig, wires, paused } = rigWith(smallPartsPerTurn)
    expect(paused()).toBe(0)
    for (const wire of wires) wire.send(rest)
    expect(rig.requests.length).toBe(smallPartsPerTurn)
  })

  test("that end while they wait are answered, or forgotten if the client has gone", async () => {
    const { rig, wires, paused } = rigWith(smallPartsPerTurn + 2)
    const [answered, gone] = wires.slice(-2)
    answered?.send(rest)
    gone?.events?.onClose()
    await rig.at(0).answer()
    expect([answered?.statuses, answered?.isPaused]).toEqual([[200], false])
    rig.beginTurns()
    expect([answered?.state, paused()]).toEqual(["open", 1])
  })

  test("have no more time because they wait for a turn", async () => {
    const { rig, wires } = rigWith(smallPartsPerTurn + 1)
    const [read, held] = [wires[0], wires.at(-1)]
    rig.pass(9_000)
    rig.connections.turn.spend(turnUnits)
    read?.send("x")
    rig.pass(1_000)
    await turn()
    expect([read?.statuses, held?.statuses]).toEqual([[408], [408]])
    expect([held?.state, held?.isPaused]).toEqual(["shutdown", false])
  })
})

describe("a whole head that waits for its turn", () => {
  test("was not too slow, even if its time ends before its turn comes", async () => {
    const rig = new ConnectionRig()
    const [whole, part] = [rig.connect(), rig.connect()]
    for (const wire of [whole, part]) wire.send(get("/").slice(0, 10))
    rig.pass(9_999)
    rig.connections.turn.spend(turnUnits)
    whole.send(get("/").slice(10))
    part.send(get("/").slice(10, -1))
    rig.pass(1)
    await turn()
    expect([whole.statuses, part.statuses, rig.requests.length]).toEqual([[], [408], 1])
    await rig.at(0).answer()
    expect([whole.statuses, rig.metrics.closed]).toEqual([[200], ["arriving"]])
  })
})

describe("bodies that come in small parts", () => {
  const bodyBytes = 4 * smallBodyPartBytes
  const small = "x".repeat(smallBodyPartBytes - 1)
  /** Each of these connections has sent its head, and the route receives its body. */
  const rigWith = (connections: number) => {
    const rig = new ConnectionRig()
    rig.holdsTurns = true
    const receive = (wire: ReturnType<typeof rig.connect>) => {
      wire.send(post("/", bodyBytes))
      const { seen, receiver } = received()
      rig.requests.at(-1)?.request.body.receive(receiver)
      return { wire, seen }
    }
    const all = Array.from({ length: connections }, () => receive(rig.connect("10.0.0.1")))
    const wires = all.map(({ wire }) => wire)
    return { rig, all, wires, receive, paused: () => wires.filter(({ isPaused }) => isPaused).length }
  }

  test("are read at a slow pace if there are many, and the addresses of clients take turns", () => {
    const { rig, all, wires, receive, paused } = rigWith(turnUnits / unitsPerRequest - 1)
    const other = receive(rig.connect("10.0.0.2"))
    expect(paused()).toBe(0)
    for (const wire of wires) wire.send(small)
    expect(paused()).toBe(wires.length - smallPartsPerTurn)
    other.wire.send(small)
    expect(other.wire.isPaused).toBe(true)
    // What has arrived is not held back.
    expect([other, ...all].filter(({ seen }) => seen.text !== small)).toEqual([])
    rig.beginTurns()
    expect([other.wire.isPaused, paused()]).toEqual([false, 0])
    for (const wire of wires) wire.send("x")
    expect(paused()).toBe(wires.length)
  })

  test("share their pace with the parts of heads", () => {
    const { rig, wires, paused } = rigWith(1)
    for (let heads = 0; heads < smallPartsPerTurn; heads++) rig.connect().send(get("/").slice(0, 10))
    wires[0]?.send(small)
    expect(paused()).toBe(1)
  })

  test("do not make others wait: large parts, what comes with the head, and what completes a body", async () => {
    const { rig, wires, paused } = rigWith(2)
    rig.connections.smallPartsTurn.spend(smallPartsPerTurn)
    const withHead = rig.connect()
    withHead.send(post("/", bodyBytes) + small)
    rig.requests.at(-1)?.request.body.receive(nothing)
    expect(withHead.isPaused).toBe(false)
    for (const wire of wires) wire.send("x".repeat(smallBodyPartBytes))
    expect(paused()).toBe(0)
    wires[0]?.send("x".repeat(bodyBytes - smallBodyPartBytes - 1))
    wires[0]?.send("x")
    await rig.at(0).answer()
    expect([paused(), wires[0]?.statuses]).toEqual([0, [200]])
  })

  test("that end while they wait are answered, and the connection reads on", async () => {
    const { rig, all } = rigWith(2)
    rig.connections.smallPartsTurn.spend(smallPartsPerTurn)
    const [whole, gone] = all
    for (const one of all) one.wire.send("x")
    expect(all.map(({ wire }) => wire.isPaused)).toEqual([true, true])
    whole?.wire.send("x".repeat(bodyBytes - 1))
    gone?.wire.events?.onClose()
    expect(all.map(({ seen }) => seen.state)).toEqual(["ended", "broken"])
    await rig.at(0).answer()
    expect([whole?.wire.statuses, whole?.wire.isPaused]).toEqual([[200], false])
    rig.beginTurns()
    expect([whole?.wire.state, gone?.wire.isPaused, rig.connections.smallPartsTurn.isSpent]).toEqual([
      "open",
      true,
      false,
    ])
  })
})

describe("bodies", () => {
  test("reach the route as they arrive, and the next request follows", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    const { seen, receiver } = received()
    wire.send(`${post("/1", 10)}01234`)
    expect(rig.at(0).request.body.arrived).toBeUndefined()
    rig.at(0).request.body.receive(receiver)
    expect(seen).toEqual({ text: "01234", state: "open" })
    wire.send(`56789${get("/2")}`)
    expect(seen).toEqual({ text: "0123456789", state: "ended" })
    await rig.at(0).answer()
    await rig.at(1).answer()
    expect(wire.statuses).toEqual([200, 200])
  })

  test("wait on the connection until the route takes them", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(`${post("/1", 10)}0`)
    expect([wire.isPaused, rig.connections.ahead.bytes]).toEqual([true, 1])
    const { seen, receiver } = received()
    rig.at(0).request.body.receive(receiver)
    expect([seen.text, wire.isPaused, rig.connections.ahead.bytes]).toEqual(["0", false, 0])
  })

  test("are asked for if the client waits for it, and only if the route wants them", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(post("/1", 2, "Expect: 100-continue\r\n"))
    expect(wire.received).toBe("")
    rig.at(0).request.body.receive(nothing)
    await turn()
    expect(wire.received).toBe("HTTP/1.1 100 Continue\r\n\r\n")
    wire.send("{}")
    await rig.at(0).answer()
    expect(wire.statuses).toEqual([100, 200])
    wire.send(post("/2", 2, "Expect: 100-continue\r\n"))
    await rig.at(1).answer({ status: 404 })
    expect(wire.statuses).toEqual([100, 200, 404])
    expect(wire.state).toBe("shutdown")
  })

  test("that are answered before their end close the connection, and the rest is dropped within a limit", async () => {
    const rig = new ConnectionRig({ lingerBytesMax: 100 })
    const wire = rig.connect()
    wire.send(`${post("/1", 1_000)}0`)
    await rig.at(0).answer({ status: 413 })
    expect(wire.received).toContain("connection: close")
    expect(wire.state).toBe("shutdown")
    wire.send(get("/2"))
    expect([wire.state, rig.requests.length]).toEqual(["shutdown", 1])
    wire.send("x".repeat(100))
    expect([wire.state, rig.metrics.open]).toEqual(["terminated", 0])
  })

  test("that are malformed are refused, whatever the route answers", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    const { seen, receiver } = received()
    wire.send("POST /1 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello")
    rig.at(0).request.body.receive(receiver)
    wire.send("world")
    await rig.at(0).answer()
    expect([seen, wire.statuses, wire.state]).toEqual([{ text: "hello", state: "broken" }, [400], "shutdown"])
  })
})

describe("a client that sends its last bytes", () => {
  test("still gets all its answers", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(get("/1") + get("/2"))
    wire.events?.onEnd()
    await rig.at(0).answer()
    expect(wire.state).toBe("open")
    await rig.at(1).answer()
    expect([wire.statuses, wire.state, rig.metrics.open]).toEqual([[200, 200], "ended", 0])
  })

  test("is not waited for: without a request, or within one, its connection ends", () => {
    const rig = new ConnectionRig()
    for (const text of ["", get("/").slice(0, 5)]) {
      const wire = rig.connect()
      if (text !== "") wire.send(text)
      wire.events?.onEnd()
      expect([text, wire.state]).toEqual([text, "ended"])
    }
    expect(rig.metrics.open).toBe(0)
  })

  test("within a body: the route learns that the rest does not come, and may answer", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    const { seen, receiver } = received()
    wire.send(`${post("/1", 10)}0`)
    rig.at(0).request.body.receive(receiver)
    wire.events?.onEnd()
    expect(seen.state).toBe("broken")
    await rig.at(0).answer({ status: 400 })
    expect([wire.statuses, wire.state]).toEqual([[400], "ended"])
  })

  test("and is gone: the signal aborts, the body breaks off, and the answer goes nowhere", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    const { seen, receiver } = received()
    wire.send(`${post("/1", 10)}0`)
    rig.at(0).request.body.receive(receiver)
    const { signal } = rig.at(0).request
    wire.events?.onClose()
    expect([seen.state, signal.aborted, rig.metrics.open]).toEqual(["broken", true, 0])
    await rig.at(0).answer()
    expect(wire.received).toBe("")
  })
})

describe("answers", () => {
  test("have a length, the id of the request and a date; HEAD has no body, and 204 no length", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(get("/1") + get("/2").replace("GET", "HEAD") + get("/3") + get("/4"))
    await rig.at(0).answer({ body: "\u00e9\u20ac", headers: { "content-type": "text/plain" } })
    await rig.at(1).answer({ body: "\u00e9\u20ac" })
    await rig.at(2).answer({ status: 204, body: "" })
    await rig.at(3).answer({ body: Buffer.from("bytes") })
    const [first = "", second = "", third = "", fourth = ""] = wire.received.split(/(?=HTTP\/1)/)
    expect(first).toMatch(
      /^HTTP\/1\.1 200 OK\r\ncontent-type: text\/plain\r\ncontent-length: 5\r\nx-request-id: [\w-]+\r\ndate: \w{3}, [^\r]* GMT\r\n\r\n\u00e9\u20ac$/,
    )
    expect(second).toMatch(/content-length: 5\r\n(?:[^\r]+\r\n)*\r\n$/)
    expect(third).toMatch(/^HTTP\/1\.1 204 No Content\r\nx-request-id: [\w-]+\r\ndate: [^\r]*\r\n\r\n$/)
    expect(fourth).toMatch(/content-length: 5\r\n(?:[^\r]+\r\n)*\r\nbytes$/)
  })

  test("close the connection if the client wants it, or uses HTTP/1.0", async () => {
    const rig = new ConnectionRig()
    for (const text of [get("/", "Connection: close\r\n"), "GET / HTTP/1.0\r\n\r\n"]) {
      const wire = rig.connect()
      wire.send(text + get("/ignored"))
      await rig.at(rig.requests.length - 1).answer()
      expect([wire.statuses, wire.state]).toEqual([[200], "shutdown"])
      expect(wire.received).toContain("connection: close")
      wire.events?.onEnd()
      expect(wire.state).toBe("ended")
    }
  })

  test("of a route that fails are 500, and the cause goes to the log only", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(get("/1") + get("/2"))
    await rig.at(0).fail(new Error("secret"))
    await turn()
    expect(wire.statuses).toEqual([500])
    expect(wire.received).not.toContain("secret")
    expect(rig.defects).toEqual([new Error("secret")])
    await rig.at(1).answer()
    expect(wire.statuses).toEqual([500, 200])
  })

  test("with a line break in a header are not sent", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(get("/1"))
    await rig.at(0).answer({ headers: { "x-a": "b\r\nx-c: d" } })
    expect([wire.received, wire.state, rig.defects.length]).toEqual(["", "terminated", 1])
  })
})

describe("requests that many connections send at the same moment", () => {
  test("run a few in each turn, and the addresses take turns", async () => {
    const rig = new ConnectionRig({ connectionsPerAddressMax: 10_000 })
    const perTurn = turnUnits / unitsPerRequest
    const wires = Array.from({ length: 3 * perTurn }, () => rig.connect("10.0.0.1"))
    for (const wire of wires) wire.send(get("/many"))
    rig.connect("10.0.0.2").send(get("/other"))
    expect(rig.requests.length).toBe(perTurn)
    await turn()
    const paths = rig.requests.map(({ request }) => request.path)
    expect(paths.length).toBeLessThanOrEqual(3 * perTurn)
    expect(paths.indexOf("/other")).toBe(perTurn + 1)
    await eventually("all requests", () => rig.requests.length === 3 * perTurn + 1 || undefined)
  })
})

describe("a connection with TLS", () => {
  test("is cut off if its handshake takes too long, and may be idle for longer after it", () => {
    const rig = new ConnectionRig({ headMs: 10_000, idleMs: 75_000 })
    const [half, secured] = [rig.connect("10.0.0.1", true), rig.connect("10.0.0.1", true)]
    secured.events?.onSecured?.()
    rig.pass(9_999)
    expect([half.state, secured.state]).toEqual(["open", "open"])
    rig.pass(1)
    expect([half.state, secured.state]).toEqual(["terminated", "open"])
    expect(rig.metrics.closed).toEqual(["securing"])
    rig.pass(65_000)
    expect(secured.state).toBe("ended")
  })

  test("makes room during its handshake before those that are idle", () => {
    const rig = new ConnectionRig({ connectionsPerAddressMax: 2 })
    const idle = rig.connect("10.0.0.1", true)
    idle.events?.onSecured?.()
    const half = rig.connect("10.0.0.1", true)
    rig.pass(250)
    rig.connect("10.0.0.1", true)
    expect([half.state, idle.state]).toEqual(["ended", "open"])
  })
})

describe("a client that does not read", () => {
  test("gets the rest when it reads, and its next request waits until then", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.room = 20
    wire.send(get("/1") + get("/2"))
    await rig.at(0).answer({ body: "x".repeat(50_000) })
    expect([rig.requests.length, wire.received.length]).toEqual([1, 20])
    wire.read(1_000)
    expect([rig.requests.length, wire.received.length]).toEqual([1, 1_020])
    wire.read()
    // If this turn has done enough, the next request waits for another.
    await eventually("the next request", () => rig.requests[1])
    await rig.at(1).answer()
    expect(wire.received.match(/x{9,}/)?.[0].length).toBe(50_000)
    expect(wire.statuses).toEqual([200, 200])
    expect(rig.connections.unread.bytes).toBe(0)
  })

  test("is closed when its time is over", async () => {
    const rig = new ConnectionRig({ readMs: 30_000 })
    const wire = rig.connect()
    wire.room = 20
    wire.send(get("/1"))
    await rig.at(0).answer({ body: "x".repeat(100_000) })
    rig.pass(29_000)
    // A few bytes are not enough.
    wire.read(readBytesMin - 1)
    rig.pass(999)
    expect(wire.state).toBe("open")
    rig.pass(1)
    expect([wire.state, rig.metrics, rig.connections.unread.bytes]).toEqual([
      "terminated",
      { open: 0, refused: [], closed: ["unread"] },
      0,
    ])
  })

  test("gets more time whenever it has read enough", async () => {
    const rig = new ConnectionRig({ readMs: 30_000, idleMs: 1_000_000 })
    const wire = rig.connect()
    wire.room = 20
    wire.send(get("/1"))
    await rig.at(0).answer({ body: "x".repeat(4 * readBytesMin) })
    for (let step = 0; step < 3; step++) {
      rig.pass(29_999)
      wire.read(readBytesMin)
    }
    expect(wire.state).toBe("open")
    wire.read()
    rig.pass(100_000)
    expect(wire.state).toBe("open")
  })

  test("is closed if the unread answers of its address are too many bytes", async () => {
    const rig = new ConnectionRig({ unreadBytesMax: 40_000 })
    const wires = [rig.connect(), rig.connect(), rig.connect("10.0.0.2")]
    for (const [index, wire] of wires.entries()) {
      wire.room = 20
      wire.send(get("/1"))
      await rig.at(index).answer({ body: "x".repeat(6_000) })
    }
    expect(wires.map(({ state }) => state)).toEqual(["open", "terminated", "open"])
    expect(rig.metrics.closed).toEqual(["bytes"])
  })

  test("counts with the memory that its answer keeps, not only with the part that it has not read", async () => {
    const rig = new ConnectionRig({ unreadBytesMax: 400_000 })
    const wires = [rig.connect(), rig.connect()]
    for (const [index, wire] of wires.entries()) {
      wire.room = 41_000
      wire.send(get("/1"))
      await rig.at(index).answer({ body: "x".repeat(90_000) })
    }
    expect(wires.map(({ state }) => state)).toEqual(["open", "terminated"])
    expect(rig.connections.unread.bytes).toBeGreaterThan(90_000)
  })

  test("does not make the service copy a large answer that it has as bytes", async () => {
    const rig = new ConnectionRig()
    const document = new Uint8Array(100_000)
    const wire = rig.connect()
    wire.room = 1_000
    wire.send(get("/document"))
    await rig.at(0).answer({ body: document })
    expect(wire.lastBufferBytes).toBe(document.byteLength)
    wire.read()
    expect(wire.received.length).toBeGreaterThan(document.byteLength)
  })

  test("does not keep the memory of what it has read", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.room = 190_000
    wire.send(get("/1"))
    await rig.at(0).answer({ body: "x".repeat(200_000) })
    const left = rig.connections.unread.bytes
    expect(left).toBeLessThan(11_000)
    wire.read(1)
    // The write had a view of the rest alone.
    expect([wire.lastBufferBytes, rig.connections.unread.bytes]).toEqual([left, left])
    wire.read(left - 2)
    expect(rig.connections.unread.bytes).toBe(1)
    wire.read()
    expect([rig.connections.unread.bytes, wire.received.match(/x{9,}/)?.[0].length]).toEqual([0, 200_000])
  })
})

describe("time", () => {
  test("a connection without a request is closed", () => {
    const rig = new ConnectionRig({ idleMs: 75_000 })
    const wire = rig.connect()
    rig.pass(74_999)
    expect(wire.state).toBe("open")
    rig.pass(1)
    expect([wire.state, wire.received, rig.metrics.closed]).toEqual(["ended", "", ["idle"]])
  })

  test("headers that arrive slowly are answered with 408, counted from their first byte", () => {
    const rig = new ConnectionRig({ headMs: 10_000 })
    const wire = rig.connect()
    rig.pass(5_000)
    for (let second = 0; second < 10; second++) {
      expect(wire.state).toBe("open")
      wire.send(get("/")[second] ?? "")
      rig.pass(1_000)
    }
    expect([wire.statuses, wire.state, rig.metrics.closed]).toEqual([[408], "shutdown", ["arriving"]])
    expect(wire.received).toContain('"code":"requestTimeout"')
  })

  test("heads that have not arrived completely are limited, in total and for one address", () => {
    const rig = new ConnectionRig({ aheadBytesMax: 40_000 })
    const begun = `GET /${"x".repeat(6_000)}`
    const wires = [rig.connect(), rig.connect(), rig.connect("10.0.0.2")]
    for (const wire of wires) wire.send(begun)
    expect(wires.map(({ statuses }) => statuses)).toEqual([[], [503], []])
    expect(wires[1]?.received).toContain('"written":"no"')
    expect([wires[1]?.state, rig.metrics.closed]).toEqual(["shutdown", ["bytes"]])
    expect(rig.connections.ahead.bytes).toBe(2 * begun.length)
    for (const wire of wires) wire.send(" HTTP/1.1\r\nHost: h\r\n\r\n")
    expect([rig.requests.length, rig.connections.ahead.bytes]).toEqual([2, 0])
  })

  test("a running request and a body have no limit here, because the route limits them", async () => {
    const rig = new ConnectionRig()
    const [running, sending] = [rig.connect(), rig.connect()]
    running.send(get("/1"))
    sending.send(`${post("/2", 10)}0`)
    rig.at(1).request.body.receive(nothing)
    rig.pass(1_000_000)
    expect([running.state, sending.state]).toEqual(["open", "open"])
  })

  test("after the last answer, a client that does not close is cut off", async () => {
    const rig = new ConnectionRig({ lingerMs: 2_000 })
    const wire = rig.connect()
    wire.send(get("/", "Connection: close\r\n"))
    await rig.at(0).answer()
    rig.pass(1_999)
    expect(wire.state).toBe("shutdown")
    rig.pass(1)
    expect([wire.state, rig.metrics.open]).toEqual(["terminated", 0])
  })

  describe("after an answer before the end of its body, a client that", () => {
    const limits = { lingerMs: 2_000, lingerSendingMs: 10_000 }
    const answered = async (more: Partial<ConnectionLimits> = {}) => {
      const rig = new ConnectionRig({ ...limits, ...more })
      const wire = rig.connect()
      wire.send(post("/", 2_000_000_000))
      await rig.at(0).answer({ status: 413 })
      expect(wire.state).toBe("shutdown")
      return { rig, wire }
    }
    const enough = "x".repeat(sentBytesMin)

    test("still sends may send for longer, because it may read only then", async () => {
      const { rig, wire } = await answered()
      for (let sent = 0; sent < 5; sent++) {
        rig.pass(1_999)
        expect(wire.state).toBe("shutdown")
        wire.send(enough)
      }
      wire.events?.onEnd()
      expect([wire.state, rig.metrics.open]).toEqual(["ended", 0])
    })

    test("never stops sending is cut off at a limit of time", async () => {
      const { rig, wire } = await answered()
      for (let passedMs = 0; passedMs < 10_000; passedMs += 1_000) {
        expect([passedMs, wire.state]).toEqual([passedMs, "shutdown"])
        wire.send(enough)
        rig.pass(1_000)
      }
      expect([wire.state, rig.metrics.open]).toEqual(["terminated", 0])
    })

    test("stops sending, or sends only a little, is cut off soon", async () => {
      const { rig, wire } = await answered()
      rig.pass(1_000)
      wire.send(enough)
      rig.pass(1_000)
      expect(wire.state).toBe("shutdown")
      wire.send(enough.slice(1))
      rig.pass(999)
      expect(wire.state).toBe("shutdown")
      rig.pass(1)
      expect(wire.state).toBe("terminated")
    })

    test("sends too much is cut off, however fast it is", async () => {
      const { wire } = await answered({ lingerBytesMax: 3 * sentBytesMin })
      for (let sent = 0; sent < 3; sent++) wire.send(enough)
      expect(wire.state).toBe("shutdown")
      wire.send("x")
      expect(wire.state).toBe("terminated")
    })

    test("still sends does not keep others waiting: it is the first to make room", async () => {
      const { rig, wire } = await answered({ connectionsPerAddressMax: 2 })
      const idle = rig.connect()
      rig.pass(1_000)
      wire.send(enough)
      const next = rig.connect()
      expect([wire.state, idle.state, next.state]).toEqual(["ended", "open", "open"])
    })

    test("still sends gets no more time while the service stops", async () => {
      const rig = new ConnectionRig(limits)
      const wire = rig.connect()
      wire.send(post("/", 2_000_000_000))
      const isDrained = rig.connections.drain()
      await rig.at(0).answer({ status: 413 })
      wire.send(enough)
      rig.pass(1_999)
      wire.send(enough)
      expect(wire.state).toBe("shutdown")
      rig.pass(1)
      expect(wire.state).toBe("terminated")
      await isDrained
    })
  })
})

describe("a stream", () => {
  /** A stream that the test writes. */
  const controlled = () => {
    const stream = new TransformStream<string | Uint8Array, string | Uint8Array>(undefined, undefined, {
      highWaterMark: 0,
    })
    return { body: stream.readable, writer: stream.writable.getWriter() }
  }

  test("is sent in chunks as it comes, and the next request follows its end", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(get("/1") + get("/2"))
    const { body, writer } = controlled()
    await rig.at(0).answer({ body })
    await turn()
    expect(wire.received).toContain("transfer-encoding: chunked\r\n")
    expect(wire.received).not.toContain("content-length")
    await writer.write("h\u00e9llo")
    await turn()
    expect(wire.received).toEndWith("\r\n\r\n6\r\nh\u00e9llo\r\n")
    await writer.write(Buffer.from("bytes"))
    await turn()
    expect(wire.received).toEndWith("5\r\nbytes\r\n")
    expect(rig.requests.length).toBe(1)
    await writer.close()
    await turn()
    await rig.at(1).answer()
    expect(wire.received).toContain("5\r\nbytes\r\n0\r\n\r\nHTTP/1.1 200 OK")
  })

  test("waits while the client does not read", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    let made = 0
    async function* parts() {
      for (; made < 10; made++) yield "x".repeat(20_000)
    }
    wire.room = 100
    wire.send(get("/1"))
    await rig.at(0).answer({ body: parts() })
    await turn()
    expect(made).toBe(0)
    wire.read(21_000)
    await turn()
    expect(made).toBe(1)
    wire.read()
    await turn()
    await turn()
    expect(made).toBe(10)
    expect(wire.received).toEndWith("0\r\n\r\n")
  })

  test("learns that the client has gone, or that it will send nothing more", async () => {
    for (const event of ["onClose", "onEnd"] as const) {
      const rig = new ConnectionRig()
      const wire = rig.connect()
      wire.send(get("/1"))
      const { signal } = rig.at(0).request
      const isOver = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))
      let isFinished = false
      async function* parts() {
        try {
          yield "first"
          await isOver
          yield "last"
        } finally {
          isFinished = true
        }
      }
      await rig.at(0).answer({ body: parts() })
      await turn()
      expect(isFinished).toBe(false)
      wire.events?.[event]()
      await turn()
      await turn()
      expect([event, signal.aborted, isFinished, rig.metrics.open]).toEqual([event, true, true, 0])
    }
  })

  test("that fails is cut off, so that nobody takes it for whole", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send(get("/1"))
    async function* parts() {
      yield "first"
      throw new Error("broken")
    }
    await rig.at(0).answer({ body: parts() })
    await turn()
    expect([wire.state, wire.received.endsWith("0\r\n\r\n"), rig.defects]).toEqual([
      "terminated",
      false,
      [new Error("broken")],
    ])
  })

  test("to HTTP/1.0 ends with the connection", async () => {
    const rig = new ConnectionRig()
    const wire = rig.connect()
    wire.send("GET / HTTP/1.0\r\n\r\n")
    async function* parts() {
      yield "first"
      yield "second"
    }
    await rig.at(0).answer({ body: parts() })
    await turn()
    expect(wire.received).toEndWith("\r\n\r\nfirstsecond")
    expect(wire.received).not.toContain("chunked")
    expect(wire.state).toBe("shutdown")
  })
})
