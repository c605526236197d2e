// A wire reads large bodies only as fast as the pace of all wires allows, and never while its connection pauses it.
import { describe, expect, test } from "bun:test"
import { PacedWire } from "../../src/listener/PacedWire.ts"
import { ReadPace, smallReadBytes } from "../../src/listener/ReadPace.ts"
import type { WireEvents } from "../../src/listener/Wire.ts"
import { MemoryWire } from "./ConnectionRig.ts"

const large = Buffer.alloc(10 * smallReadBytes)

const rigOf = (wires: number) => {
  const clock = { nowMs: 0 }
  const due: Array<() => void> = []
  const pace = new ReadPace({
    bytesPerSecond: 1_000 * large.length,
    burstBytes: 2 * large.length,
    nowMs: () => clock.nowMs,
    after: (_, work) => void due.push(work),
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
  /** Runs the next check of the pace at this time. */
  const checkAt = (nowMs: number): void => {
    clock.nowMs = nowMs
    due.shift()?.()
  }
  return { pace, received, sockets, paced, checkAt }
}

describe("a paced wire", () => {
  test("waits after large reads, and goes on in the order in which the wires began to wait", () => {
    const { pace, received, sockets, paced, checkAt } = rigOf(12)
    for (const wire of paced) wire.onData(large)
    // What was read is not held back.
    expect(received.length).toBe(12)
    expect(sockets.map(({ isPaused }) => isPaused)).toEqual([false, ...Array(11).fill(true)])
    const paused = () => sockets.flatMap(({ isPaused }, index) => (isPaused ? [index] : []))
    expect(pace.waiting).toBe(11)
    // They owe ten reads, and one millisecond allows one.
    checkAt(10)
    expect(pace.waiting).toBe(11)
    checkAt(12)
    expect(paused()).toEqual([5, 6, 7, 8, 9, 10, 11])
    checkAt(16)
    expect(paused()).toEqual([9, 10, 11])
    checkAt(20)
    expect(paused()).toEqual([])
  })

  test("does not wait after small reads", () => {
    const { pace, sockets, paced } = rigOf(1)
    for (let count = 0; count < 1_000; count++) paced[0]?.onData(Buffer.alloc(smallReadBytes))
    expect(sockets[0]?.isPaused).toBe(false)
    expect(pace.waiting).toBe(0)
  })

  test("reads only if both the pace and its connection allow it", () => {
    const { pace, sockets, paced, checkAt } = rigOf(1)
    const [socket, wire] = [sockets[0], paced[0]]
    wire?.onData(large)
    wire?.onData(large)
    expect(socket?.isPaused).toBe(true)
    wire?.pause()
    wire?.resume()
    expect(socket?.isPaused).toBe(true)
    wire?.pause()
    checkAt(1_000)
    expect(pace.waiting).toBe(0)
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
