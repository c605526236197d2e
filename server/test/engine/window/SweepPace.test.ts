import { expect, test } from "bun:test"
import { SweepPace } from "../../../src/engine/window/SweepPace.ts"

const placesMs = (pace: SweepPace, nowMs: number, count: number) =>
  Array.from({ length: count }, () => Number(pace.takePlace(BigInt(nowMs) * 1_000_000n)) / 1e6)

test("all shards together read 25 pages of long sweeps in a second, the first one at once", () => {
  const pace = new SweepPace()
  expect(placesMs(pace, 1_000, 4)).toEqual([1_000, 1_040, 1_080, 1_120])
  expect(placesMs(pace, 1_020, 1)).toEqual([1_160])
})

test("places that nobody took do not add up", () => {
  const pace = new SweepPace()
  placesMs(pace, 1_000, 1)
  expect(placesMs(pace, 9_000, 2)).toEqual([9_000, 9_040])
})
