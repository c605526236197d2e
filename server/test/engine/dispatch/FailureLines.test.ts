import { expect, test } from "bun:test"
import { FailureLines } from "../../../src/engine/dispatch/FailureLines.ts"

const countsOf = (lines: FailureLines, namespace: string, count: number, nowMs: number) => {
  const counts = { write: 0, writeLast: 0, leaveOut: 0 }
  for (let line = 0; line < count; line++) counts[lines.next(namespace, nowMs)]++
  return counts
}

test("a namespace has 20 lines in a second, one that says so, and then no more", () => {
  const lines = new FailureLines()
  expect(countsOf(lines, "a", 1_000, 0)).toEqual({ write: 20, writeLast: 1, leaveOut: 979 })
  expect(countsOf(lines, "b", 2, 999)).toEqual({ write: 2, writeLast: 0, leaveOut: 0 })
  expect(countsOf(lines, "a", 1, 999)).toEqual({ write: 0, writeLast: 0, leaveOut: 1 })
  expect(countsOf(lines, "a", 60, 1_000)).toEqual({ write: 20, writeLast: 1, leaveOut: 39 })
})

test("all namespaces together have 200 lines in a second", () => {
  const lines = new FailureLines()
  for (let namespace = 0; namespace < 199; namespace++) expect(lines.next(`n-${namespace}`, 0)).toBe("write")
  expect(lines.next("next", 0)).toBe("writeLast")
  expect(lines.next("other", 0)).toBe("leaveOut")
  expect(lines.next("other", 1_000)).toBe("write")
})
