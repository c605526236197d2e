import { expect, test } from "bun:test"
import { SweepPace } from "../../../src/engine/window/SweepPace.ts"

const placesMs = (pace: SweepPace, nowMs: number, pages: ReadonlyArray<number>) =>
  pages.map((timers) => Number(pace.takePlace(BigInt(nowMs) * 1_000_000n, timers)) / 1e6)

test("all shards together read 12,500 timers of long sweeps in a second, the first page at once", () => {
  const pace = new SweepPace()
  expect(placesMs(pace, 1_000, [500, 500, 50, 500])).toEqual([1_000, 1_040, 1_080, 1_084])
  expect(placesMs(pace, 1_020, [500])).toEqual([1_124])
})

test("places that nobody took do not add up", () => {
  const pace = new SweepPace()
  placesMs(pace, 1_000, [500])
  expect(placesMs(pace, 9_000, [500, 500])).toEqual([9_000, 9_040])
})
