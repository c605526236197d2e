// How the lateness of an attempt is counted.
import { expect, test } from "bun:test"
import { latenessMs } from "../../src/domain/latenessMs.ts"

const at = (executeAt: number, createdAt: number, more: { updatedAt?: number; attempts?: number } = {}) => ({
  executeAt,
  createdAt,
  updatedAt: createdAt,
  attempts: 0,
  ...more,
})

test("lateness counts from executeAt, or from the creation of a timer that was overdue by then", () => {
  expect(latenessMs(at(1_000, 10), 1_007)).toBe(7)
  expect(latenessMs(at(0, 1_000), 1_007)).toBe(7)
  expect(latenessMs(at(1_000, 10), 999)).toBe(0)
})

test("lateness counts from a change of a timer that had no attempt yet", () => {
  expect(latenessMs(at(0, 10, { updatedAt: 1_000 }), 1_007)).toBe(7)
})

test("lateness counts over retries, because an attempt does not make the next one punctual", () => {
  expect(latenessMs(at(1_000, 10, { updatedAt: 9_000, attempts: 2 }), 9_500)).toBe(8_500)
  expect(latenessMs(at(0, 1_000, { updatedAt: 9_000, attempts: 2 }), 9_500)).toBe(8_500)
})
