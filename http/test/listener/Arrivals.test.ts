import { describe, expect, test } from "bun:test"
import { runsOf } from "@punctual/server/testkit/effort"
import fc from "fast-check"
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
  const spendTurn = () => {
    while (!turn.isSpent) turn.spend(1)
  }
  return { arrivals, served, got, connect, spendTurn, nextTurn: () => held.beginTurns() }
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

  test("beyond the limit cost the address that has the most its last one, whoever has come and gone before", () => {
    const waitingMax = 10
    const step = fc.oneof(
      { weight: 12, arbitrary: fc.record({ arrives: fc.integer({ min: 1, max: 3 }) }) },
      { weight: 6, arbitrary: fc.record({ leaves: fc.nat({ max: waitingMax - 1 }) }) },
      { weight: 1, arbitrary: fc.constant({ turn: true } as const) },
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
        const { arrivals, connect, nextTurn, spendTurn } = rig({ waitingMax })
        spendTurn()
        let waiting: Array<ReturnType<typeof connect>> = []
        const countsAgree = () => {
          waiting = waiting.filter(({ socket }) => socket.isPaused && socket.state === "open")
          expect(arrivals.waiting).toBe(waiting.length)
        }
        const of = (address: string) => waiting.filter(({ socket }) => socket.remoteAddress === address)
        const arrive = (address: string) => {
          const arrived = connect(address)
          waiting.push(arrived)
          if (waiting.length <= waitingMax) return
          const lost = waiting.find(({ socket }) => socket.state === "terminated")
          const its = of(lost?.socket.remoteAddress ?? "")
          const most = Math.max(...waiting.map(({ socket }) => of(socket.remoteAddress).length))
          expect([its.length, its.at(-1) === lost]).toEqual([most, true])
          // Of two addresses that have the most, the one that has just come loses.
          expect(lost === arrived || of(address).length < most).toBe(true)
          lost?.wire.onClose()
        }
        for (const one of steps) {
          if ("arrives" in one) arrive(`10.0.0.${one.arrives}`)
          else if ("leaves" in one) waiting.splice(one.leaves, 1)[0]?.wire.onClose()
          else {
            nextTurn()
            spendTurn()
          }
          countsAgree()
        }
        // Each of these takes the place of another one.
        for (let index = 0; index < 2 * waitingMax; index++) {
          arrive(`10.0.1.${index}`)
          countsAgree()
        }
      }),
      { numRuns: runsOf(200) },
    )
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
