// The log lines about refused hosts are limited.
import { expect, test } from "bun:test"
import { RefusalWarnings } from "../../../src/engine/dispatch/RefusalWarnings.ts"

test("ten hosts are named in a minute, and then there is a count", () => {
  const warnings = new RefusalWarnings()
  const refuse = (count: number, nowMs: number) =>
    Array.from({ length: count }, (_, host) => warnings.linesFor(`h${host}`, "why", nowMs)).flat()
  const lines = refuse(1_000, 5_000)
  expect(lines.length).toBe(11)
  expect(lines[0]).toBe("timers for h0 wait, without attempts: why")
  expect(lines[10]).toContain("the log names no more of them")
  expect(refuse(1, 64_999)).toEqual([])
  expect(refuse(2, 65_000)).toEqual([
    "the egress rules refused 991 more hosts that the log does not name",
    "timers for h0 wait, without attempts: why",
    "timers for h1 wait, without attempts: why",
  ])
  expect(refuse(1, 200_000)).toEqual(["timers for h0 wait, without attempts: why"])
})
