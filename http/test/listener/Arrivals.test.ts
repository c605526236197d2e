import { describe, expect, test } from "bun:test"
import { Arrivals } from "../../src/listener/Arrivals.ts"
import {
  arrivalUnitsPerTurn,
  unitsPerConnection,
  unitsPerHandshake,
} from "../../src/listener/ConnectionLimits.ts"
import { PacedWire } from "../../src/listener/PacedWire.ts"
import { ReadPace } from "../../src/listener/ReadPace.ts"
import type { WireEvents } from "../../src/listener/Wire.ts"
import { ConnectionRig, MemoryWire } from "./ConnectionRig.ts"

const pace = new ReadPace({ bytesPerSecond: 1, burstBytes: 1, nowMs: () => 0, after: () => {} })

/** Turns begin when the test says so. */
const rig = ({ waitingMax = 1_000, isSecure = false } = {}) => {
  const held = new ConnectionRig()
  held.holdsTurns = true
  const turn = held.connections.arrivalTurn
  const served: Array<string> = []
  const got: Array<string> = []
  const events: WireEvents = {
    onData: (bytes) => got.push(bytes.toString()),
    onDrain: () => {},
    onEnd: () => got.push("end"),
    onClose: () => got.push("close"),
  }
  const arrivals = new Arrivals({
    turn,
    waitingMax,
    isSecure,
    serve: (_, group) => {
      served.push(group)
      return events
    },
  })
  const connect = (address: string): { readonly socket: MemoryWire; readonly wire: PacedWire } => {
    const socket = new MemoryWire(address)
    const wire = new PacedWire(socket, pace)
    arrivals.accept(wire)
    return { socket, wire }
  }
  return { arrivals, served, got, connect, nextTurn: () => held.beginTurns() }
}

const many = <A>(count: number, make: (index: number) => A): Array<A> =>
  Array.from({ length: count }, (_, index) => make(index))

describe("new connections", () => {
  test("are served a few in each turn; the others are paused until their turn", () => {
    const { arrivals, served, connect, nextTurn } = rig()
    const perTurn = arrivalUnitsPerTurn / unitsPerConnection
    const all = many(3 * perTurn - 1, () => connect("10.0.0.1"))
    const paused = () => all.filter(({ socket }) => socket.isPaused).length
    expect([served.length, paused(), arrivals.waiting]).toEqual([perTurn, 2 * perTurn - 1, 2 * perTurn - 1])
    nextTurn()
    expect([served.length, paused()]).toEqual([2 * perTurn, perTurn - 1])
    nextTurn()
    expect([served.length, paused(), arrivals.waiting]).toEqual([3 * perTurn - 1, 0, 0])
  })

  test("with TLS are fewer in each turn, because of their handshakes", () => {
    const { served, connect, nextTurn } = rig({ isSecure: true })
    const perTurn = arrivalUnitsPerTurn / unitsPerHandshake
    expect(perTurn).toBe(2)
    many(3 * perTurn, () => connect("10.0.0.1"))
    expect(served.length).toBe(perTurn)
    nextTurn()
    expect(served.length).toBe(2 * perTurn)
  })

  test("of one address wait only for their turn, however many another address opens", () => {
    const { served, connect, nextTurn } = rig()
    const perTurn = arrivalUnitsPerTurn / unitsPerConnection
    many(5 * perTurn, () => connect("10.0.0.1"))
    connect("10.0.0.2")
    expect(served).not.toContain("10.0.0.2")
    nextTurn()
    expect(served.indexOf("10.0.0.2")).toBe(perTurn + 1)
  })

  test("beyond the limit are closed, and so are those that wait when the service stops", () => {
    const { arrivals, served, connect, nextTurn } = rig({ waitingMax: 2 })
    const perTurn = arrivalUnitsPerTurn / unitsPerConnection
    const all = many(perTurn + 3, () => connect("10.0.0.1"))
    expect(all.at(-1)?.socket.state).toBe("terminated")
    arrivals.terminateAll()
    expect(all.slice(perTurn).map(({ socket }) => socket.state)).toEqual(many(3, () => "terminated"))
    nextTurn()
    expect(served.length).toBe(perTurn)
  })

  test("beyond the limit take the place of the last one of the address that has the most", () => {
    const { served, connect, nextTurn } = rig({ waitingMax: 4 })
    const perTurn = arrivalUnitsPerTurn / unitsPerConnection
    const flood = many(perTurn + 4, () => connect("10.0.0.1"))
    const other = connect("10.0.0.2")
    expect([flood.at(-1)?.socket.state, other.socket.state]).toEqual(["terminated", "open"])
    nextTurn()
    expect([served.length, served.includes("10.0.0.2")]).toEqual([perTurn + 4, true])
  })

  test("that end while they wait are forgotten, and bytes that reach them are not lost", () => {
    const { served, got, connect, nextTurn } = rig()
    const perTurn = arrivalUnitsPerTurn / unitsPerConnection
    many(perTurn, () => connect("10.0.0.1"))
    const [closed, hasSent] = many(2, () => connect("10.0.0.1"))
    closed?.wire.onClose()
    hasSent?.wire.onData(Buffer.from("request"))
    hasSent?.wire.onEnd()
    expect([served.length, got]).toEqual([perTurn + 1, ["request", "end"]])
    nextTurn()
    expect(served.length).toBe(perTurn + 1)
  })
})
