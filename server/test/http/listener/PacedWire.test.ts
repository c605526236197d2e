// A wire reads large bodies only as fast as the pace of all wires allows, and never while its connection pauses it.
import { describe, expect, test } from "bun:test"
import { PacedWire } from "../../../src/http/listener/PacedWire.ts"
import { ReadPace, smallReadBytes } from "../../../src/http/listener/ReadPace.ts"
import type { WireEvents } from "../../../src/http/listener/Wire.ts"
import { MemoryWire } from "./ConnectionRig.ts"

const large = Buffer.alloc(10 * smallReadBytes)

const rigOf = (wires: number) => {
  const clock = { nowMs: 0 }
  const pace = new ReadPace({
    bytesPerSecond: 1_000 * large.length,
    burstBytes: 2 * large.length,
    nowMs: () => clock.nowMs,
  })
  const received: Array<number> = []
  const sockets = Array.from({ length: wires }, () => new MemoryWire("127.0.0.1"))
  const paced = sockets.map((socket, index) => {
    const wire = new PacedWire(socket, pace)
    const events: WireEvents = {
      onData: () => void received.push(index),
      onDrain: () => {},
      onEnd: () => {},
      onClose: () => {},
    }
    wire.events = events
    return wire
  })
  /** Waits for the next check of the pace. */
  const until = async (isDone: () => boolean) => {
    for (let tries = 0; !isDone() && tries < 500; tries++) await new Promise((done) => setTimeout(done, 4))
    expect(isDone()).toBe(true)
  }
  return { clock, pace, received, sockets, paced, until }
}

describe("a paced wire", () => {
  test("waits after large reads, and goes on in the order in which the wires began to wait", async () => {
    const { clock, pace, received, sockets, paced, until } = rigOf(12)
    for (const wire of paced) wire.onData(large)
    // What was read is not held back.
    expect(received.length).toBe(12)
    expect(sockets.map(({ isPaused }) => isPaused)).toEqual([false, ...Array(11).fill(true)])
    const [, first] = sockets
    expect(pace.waiting).toBe(11)
    // It owes ten reads, and one millisecond allows one.
    clock.nowMs = 10
    await new Promise((done) => setTimeout(done, 20))
    expect(pace.waiting).toBe(11)
    clock.nowMs = 12
    await until(() => first?.isPaused === false)
    await until(() => pace.waiting === 0)
    expect(sockets.every(({ isPaused }) => !isPaused)).toBe(true)
  })

  test("does not wait after small reads", () => {
    const { pace, sockets, paced } = rigOf(1)
    for (let count = 0; count < 1_000; count++) paced[0]?.onData(Buffer.alloc(smallReadBytes))
    expect(sockets[0]?.isPaused).toBe(false)
    expect(pace.waiting).toBe(0)
  })

  test("reads only if both the pace and its connection allow it", async () => {
    const { clock, pace, sockets, paced, until } = rigOf(1)
    const [socket, wire] = [sockets[0], paced[0]]
    wire?.onData(large)
    wire?.onData(large)
    expect(socket?.isPaused).toBe(true)
    wire?.pause()
    wire?.resume()
    expect(socket?.isPaused).toBe(true)
    wire?.pause()
    clock.nowMs = 1_000
    await until(() => pace.waiting === 0)
    expect(socket?.isPaused).toBe(true)
    wire?.resume()
    expect(socket?.isPaused).toBe(false)
  })

  test("is forgotten when it closes", () => {
    const { pace, paced } = rigOf(3)
    for (const wire of paced) for (let count = 0; count < 3; count++) wire.onData(large)
    expect(pace.waiting).toBe(3)
    paced[0]?.onClose()
    paced[1]?.terminate()
    paced[2]?.end()
    expect(pace.waiting).toBe(0)
  })
})
