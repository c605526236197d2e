import { expect, test } from "bun:test"
import { DuePace } from "../../../src/engine/window/DuePace.ts"

test("all shards together take at most 1,000 due timers before the thread does other work", () => {
  const soon: Array<() => void> = []
  const pace = new DuePace((task) => soon.push(task))
  pace.took(600)
  expect([pace.left, soon.length]).toEqual([400, 0])
  pace.took(400)
  pace.took(0)
  expect([pace.left, soon.length]).toEqual([0, 1])
  soon[0]?.()
  expect(pace.left).toBe(1_000)
})
