import { describe, expect, test } from "bun:test"
import { largePayloadBytes, PayloadPace } from "../../../src/engine/dispatch/PayloadPace.ts"

const makePace = () => {
  const clock = { nowMs: 5_000 }
  const pace = new PayloadPace(() => clock.nowMs)
  /** Starts as many attempts with such a payload as it may, at most a thousand, and returns how many. */
  const startAll = (payloadBytes: number) => {
    let started = 0
    for (; started < 1_000 && pace.mayStart(payloadBytes); started++) pace.started(payloadBytes)
    return started
  }
  return { clock, pace, startAll }
}

describe("attempts with large payloads", () => {
  test("start at a pace of 16 MiB in a second", () => {
    const { clock, startAll } = makePace()
    let bytes = 0
    for (let ms = 0; ms < 1_000; ms++) {
      bytes += startAll(60_000) * 60_000
      clock.nowMs++
    }
    expect(bytes / (16 * 1024 * 1024)).toBeWithin(0.95, 1.05)
  })

  test("do not make others wait, even if their own allowance is used up", () => {
    const { startAll } = makePace()
    expect(startAll(60_000)).toBe(3)
    expect(startAll(60_000)).toBe(0)
    expect(startAll(largePayloadBytes)).toBe(1_000)
    expect(startAll(0)).toBe(1_000)
  })

  test("start one by one if they are larger than the allowance, and wait for as long as they cost", () => {
    const { clock, pace, startAll } = makePace()
    expect(startAll(1_000_000)).toBe(1)
    let waitedMs = 0
    while (startAll(1_000_000) === 0) {
      waitedMs += pace.nextInMs
      clock.nowMs += pace.nextInMs
    }
    expect(waitedMs).toBeWithin(45, 71)
  })

  test("do not save up an allowance while there are none", () => {
    const { clock, startAll } = makePace()
    clock.nowMs += 60_000
    expect(startAll(60_000)).toBe(3)
  })
})
