import { describe, expect, test } from "bun:test"
import { NewcomerPace } from "../../../src/engine/dispatch/NewcomerPace.ts"

const makePace = () => {
  const clock = { nowMs: 1_000 }
  const pace = new NewcomerPace(() => clock.nowMs)
  /** Starts as many as it may, and returns how many. */
  const startAll = () => {
    let started = 0
    for (; pace.mayStart(); started++) pace.started()
    return started
  }
  const nextTick = () => {
    clock.nowMs += 10
  }
  return { clock, pace, startAll, nextTick }
}

describe("attempts of new namespaces", () => {
  test("start at a pace: each 10 ms have an allowance", () => {
    const { clock, pace, startAll } = makePace()
    expect(startAll()).toBe(20)
    clock.nowMs += 4
    expect(startAll()).toBe(0)
    expect(pace.nextInMs).toBe(6)
    clock.nowMs += 6
    expect(startAll()).toBe(20)
  })

  test("get half as much each time the thread comes late to due timers, down to two", () => {
    const { pace, startAll, nextTick } = makePace()
    const allowed: Array<number> = []
    for (let tick = 0; tick < 6; tick++) {
      pace.noteDelay(3)
      allowed.push(startAll())
      nextTick()
    }
    expect(allowed).toEqual([10, 5, 2, 2, 2, 2])
  })

  test("are slowed down once by several delays in the same 10 ms, because they have one cause", () => {
    const { pace } = makePace()
    for (let shard = 0; shard < 16; shard++) pace.noteDelay(8)
    expect(pace.perTick).toBe(10)
  })

  test("lose what is left of their allowance when the thread comes late", () => {
    const { pace, startAll } = makePace()
    for (let started = 0; started < 15; started++) pace.started()
    pace.noteDelay(5)
    expect(startAll()).toBe(5)
    const other = makePace()
    other.pace.noteDelay(5)
    expect(other.startAll()).toBe(10)
  })

  test("get one more after each 50 ms without a delay, up to a hundred", () => {
    const { clock, pace, startAll, nextTick } = makePace()
    pace.noteDelay(3)
    for (let tick = 0; tick < 5; tick++) nextTick()
    expect(startAll()).toBe(10)
    nextTick()
    expect(startAll()).toBe(11)
    clock.nowMs += 60_000
    expect(startAll()).toBe(100)
  })

  test("are not slowed down by short delays", () => {
    const { pace, startAll } = makePace()
    pace.noteDelay(2.9)
    pace.noteDelay(-500)
    expect(startAll()).toBe(20)
  })
})
