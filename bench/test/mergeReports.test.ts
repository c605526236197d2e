import { expect, test } from "bun:test"
import { mergeReports } from "../src/mergeReports.ts"

const row = (name: string, values: string) => ({ name, values })
const verdict = (name: string, value: string) => ({ label: `${name}: p99`, value })

test("a partial run replaces its own rows and verdicts, and keeps the order of all", () => {
  const before = {
    rows: [row("a: x", "1"), row("c: z", "3")],
    verdicts: [verdict("a: x", "1"), verdict("c: z", "3")],
  }
  const now = {
    rows: [row("c: z", "4"), row("b: y", "2")],
    verdicts: [verdict("c: z", "4"), verdict("b: y", "2")],
  }
  expect(mergeReports(before, now, ["a: x", "b: y", "c: z"])).toEqual({
    rows: [row("a: x", "1"), row("b: y", "2"), row("c: z", "4")],
    verdicts: [verdict("a: x", "1"), verdict("b: y", "2"), verdict("c: z", "4")],
  })
})

test("a verdict belongs to the row with exactly its name", () => {
  const before = {
    rows: [row("a: x", "1"), row("a: x, later", "2")],
    verdicts: [verdict("a: x", "1"), verdict("a: x, later", "2")],
  }
  const now = { rows: [row("a: x", "9")], verdicts: [verdict("a: x", "9")] }
  expect(mergeReports(before, now, ["a: x", "a: x, later"]).verdicts).toEqual([
    verdict("a: x", "9"),
    verdict("a: x, later", "2"),
  ])
})
