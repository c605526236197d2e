import { expect, test } from "bun:test"
import { bytesShown, countOf, countShown, spanShown } from "../../../src/cli/frame/figures.ts"

test("counts have separators between thousands", () => {
  expect([0, 999, 1_000, 1_234_567].map(countShown)).toEqual(["0", "999", "1,000", "1,234,567"])
})

test("a noun is plural unless there is one", () => {
  expect([0, 1, 2, 1_000].map((count) => countOf(count, "timer"))).toEqual([
    "0 timers",
    "1 timer",
    "2 timers",
    "1,000 timers",
  ])
  expect([countOf(1, "life", "lives"), countOf(3, "life", "lives")]).toEqual(["1 life", "3 lives"])
})

test("bytes are in the largest unit that they fill", () => {
  expect([0, 1_023, 1_024, 1_536, 5 * 2 ** 30, 2 ** 60].map(bytesShown)).toEqual([
    "0 B",
    "1023 B",
    "1.0 KiB",
    "1.5 KiB",
    "5.0 GiB",
    "1048576.0 TiB",
  ])
})

test("spans are in their largest unit and the next", () => {
  expect(
    [
      0,
      999,
      1_000,
      1_950,
      9_999,
      10_999,
      65_000,
      3_600_000,
      90_061_000,
      86_400_000 * 400,
      217_005_082_408,
    ].map(spanShown),
  ).toEqual([
    "0 ms",
    "999 ms",
    "1 s",
    "1.9 s",
    "9.9 s",
    "10 s",
    "1 min 5 s",
    "1 h",
    "1 d 1 h",
    "400 d",
    "2,511 d 15 h",
  ])
})
