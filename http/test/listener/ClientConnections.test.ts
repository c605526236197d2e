// All connections together: at a limit, clients that do nothing make room, and a client that is refused is told why.
import { describe, expect, test } from "bun:test"
import { addressGroupOf } from "@punctual/door/addressGroupOf"
import { endsPerSweep } from "../../src/listener/ClientConnections.ts"
import { connectionsWithin } from "../../src/listener/openFilesMax.ts"
import { ConnectionRig, type MemoryWire } from "./ConnectionRig.ts"

const get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
const unfinished = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n{"
const statesOf = (wires: ReadonlyArray<MemoryWire>) => wires.map(({ state }) => state)

describe("at the limit of one address", () => {
  const atLimit = (text: string) => {
    const rig = new ConnectionRig({ connectionsPerAddressMax: 3, connectionsMax: 10 })
    const wires = [rig.connect(), rig.connect(), rig.connect()]
    for (const wire of wires) if (text !== "") wire.send(text)
    return { rig, wires }
  }

  test("a new connection is told why it is refused if all others are answered at the moment", () => {
    const { rig } = atLimit(get)
    rig.pass(5_000)
    const refused = rig.connect()
    expect([refused.statuses, refused.state]).toEqual([[503], "shutdown"])
    expect(refused.received).toContain("retry-after: 1\r\n")
    expect(refused.received).toContain("SAMPLE_MAX_CONNECTIONS_PER_ADDRESS")
    expect(refused.received).toContain('"written":"no"')
    expect([rig.metrics.refused, rig.metrics.open]).toEqual([["address"], 3])
    // Another address is not affected.
    const other = rig.connect("10.0.0.2")
    other.send(get)
    expect(rig.requests.length).toBe(4)
  })

  for (const [name, text, answer] of [
    ["without a request", "", []],
    ["within the headers", get.slice(0, 9), [503]],
    ["within the body", unfinished, [503]],
  ] as const) {
    test(`the connection that waits longest makes room: ${name}`, () => {
      const { rig, wires } = atLimit(text)
      // Those that have just opened stay.
      expect(rig.connect().statuses).toEqual([503])
      rig.pass(250)
      const next = rig.connect()
      next.send(get)
      expect(next.state).toBe("open")
      expect(rig.requests.at(-1)?.request.path).toBe("/")
      expect(statesOf(wires)).toEqual(["ended", "open", "open"])
      expect(wires[0]?.statuses).toEqual(answer as never)
      expect([rig.metrics.open, rig.metrics.closed]).toEqual([3, ["room"]])
    })
  }

  test("a connection without a request goes before one within a request", () => {
    const { rig, wires } = atLimit("")
    wires[0]?.send(unfinished)
    rig.pass(250)
    rig.connect()
    expect(statesOf(wires)).toEqual(["open", "ended", "open"])
  })

  test("a connection whose client does not read makes room, after all others that wait", async () => {
    const { rig, wires } = atLimit("")
    const [unread, receiving, running] = wires
    if (unread === undefined) throw new Error("no connection")
    unread.room = 20
    unread.send(get)
    await rig.at(0).answer({ body: "x".repeat(100_000) })
    running?.send(get)
    rig.pass(250)
    receiving?.send(unfinished)
    rig.pass(250)
    const next = rig.connect()
    next.send(get)
    expect([...statesOf(wires), next.state]).toEqual(["open", "ended", "open", "open"])
    // A client that has just read enough stays.
    unread.read(50_000)
    expect(rig.connect().statuses).toEqual([503])
    rig.pass(250)
    expect(rig.connect().state).toBe("open")
    expect([...statesOf(wires), next.state]).toEqual(["terminated", "ended", "open", "open"])
    expect([rig.metrics.open, rig.metrics.closed, rig.connections.unread.bytes]).toEqual([
      3,
      ["room", "room"],
      0,
    ])
  })
})

describe("at the limit of all connections", () => {
  test("the address with the most connections makes room", () => {
    const rig = new ConnectionRig({ connectionsMax: 4 })
    const few = rig.connect("10.0.0.1")
    const many = ["10.0.0.2", "10.0.0.2", "10.0.0.2"].map((address) => rig.connect(address))
    rig.pass(250)
    const next = rig.connect("10.0.0.3")
    expect([few.state, next.state, statesOf(many)]).toEqual(["open", "open", ["ended", "open", "open"]])
  })

  test("an address with fewer connections makes room if those of the others have just opened", () => {
    const rig = new ConnectionRig({ connectionsMax: 4 })
    const few = rig.connect("10.0.0.1")
    rig.pass(250)
    const many = ["10.0.0.2", "10.0.0.2", "10.0.0.2"].map((address) => rig.connect(address))
    const next = rig.connect("10.0.0.3")
    expect([few.state, next.state, statesOf(many)]).toEqual(["ended", "open", ["open", "open", "open"]])
    expect(rig.connect("10.0.0.4").statuses).toEqual([503])
  })

  test("a connection is refused if all are answered at the moment, and only a few are told so", () => {
    const rig = new ConnectionRig({ connectionsMax: 1, refusedMax: 2, lingerMs: 2_000 })
    rig.connect().send(get)
    rig.pass(250)
    const refused = [rig.connect(), rig.connect(), rig.connect()]
    expect(statesOf(refused)).toEqual(["shutdown", "shutdown", "terminated"])
    expect(refused.map(({ statuses }) => statuses)).toEqual([[503], [503], []])
    expect(refused[0]?.received).toContain("SAMPLE_MAX_CONNECTIONS)")
    expect(rig.metrics.refused).toEqual(["total", "total", "total"])
    rig.pass(2_000)
    expect(statesOf(refused)).toEqual(["terminated", "terminated", "terminated"])
    expect(rig.connect().statuses).toEqual([503])
  })
})

test("a sweep ends a limited number of connections, and says that there are more", () => {
  const rig = new ConnectionRig({ idleMs: 1_000 })
  for (let index = 0; index < endsPerSweep + 1; index++) rig.connect()
  expect(rig.connections.sweep(1_000)).toBe(true)
  expect(rig.metrics.open).toBe(1)
  expect(rig.connections.sweep(1_000)).toBe(false)
  expect(rig.metrics.open).toBe(0)
})

test("draining closes idle connections, answers running requests, and then is complete", async () => {
  const rig = new ConnectionRig()
  const [idle, running] = [rig.connect(), rig.connect()]
  running.send(get)
  let isOver = false
  const drained = rig.connections.drain().then(() => {
    isOver = true
  })
  expect([idle.state, running.state, isOver]).toEqual(["ended", "open", false])
  await rig.at(0).answer()
  expect(running.received).toContain("connection: close")
  running.events?.onEnd()
  await drained
  expect(rig.metrics.open).toBe(0)
})

test("addresses of IPv6 count by their /64 network, and IPv4 counts as IPv4", () => {
  const groups = {
    "127.0.0.1": "127.0.0.1",
    "::ffff:127.0.0.1": "127.0.0.1",
    "::1": "0:0:0:0::/64",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
    "2001:db8:1:2::9": "2001:db8:1:2::/64",
    "2001:0db8:0001:0002:0000:0000:0000:0009": "2001:db8:1:2::/64",
    "2001:db8::9": "2001:db8:0:0::/64",
    "fe80::1%eth0": "fe80:0:0:0::/64",
  }
  for (const [address, group] of Object.entries(groups)) {
    expect([address, addressGroupOf(address)]).toEqual([address, group])
  }
})

test("connections leave open files for everything else", () => {
  expect(connectionsWithin(10_000, undefined)).toBe(10_000)
  expect(connectionsWithin(10_000, 1_048_576)).toBe(10_000)
  expect(connectionsWithin(10_000, 8_000)).toBe(7_000)
  expect(connectionsWithin(10_000, 1_024)).toBe(512)
  expect(connectionsWithin(100, 1_024)).toBe(100)
})
