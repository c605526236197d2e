import { expect, test } from "bun:test"
import { DuePace } from "../../../src/engine/window/DuePace.ts"

const timers = (count: number, isOfNew = false) => Array.from({ length: count }, () => ({ isOfNew }))

test("all shards together take at most 1,000 due timers before the thread does other work", () => {
  const soon: Array<() => void> = []
  const pace = new DuePace((task) => soon.push(task))
  pace.took(timers(600))
  expect([pace.left, pace.isSpent, soon.length]).toEqual([400, false, 0])
  pace.took(timers(400))
  pace.took([])
  expect([pace.left, pace.isSpent, soon.length]).toEqual([0, true, 1])
  soon[0]?.()
  expect([pace.left, pace.isSpent]).toEqual([1_000, false])
})

test("timers of new namespaces have a limit of their own, which known namespaces cannot use up", () => {
  const soon: Array<() => void> = []
  const pace = new DuePace((task) => soon.push(task))
  pace.took(timers(1_000))
  expect([pace.left, pace.newLeft]).toEqual([0, 250])
  pace.took(timers(250, true))
  expect([pace.newLeft, pace.isSpent, soon.length]).toEqual([0, true, 1])
  soon[0]?.()
  expect([pace.left, pace.newLeft, pace.isSpent]).toEqual([1_000, 250, false])
})

test("each limit alone ends the turn, in every turn", () => {
  const soon: Array<() => void> = []
  const pace = new DuePace((task) => soon.push(task))
  pace.took(timers(250, true))
  expect([pace.left, pace.newLeft, pace.isSpent, soon.length]).toEqual([1_000, 0, true, 1])
  soon[0]?.()
  pace.took(timers(1_000))
  expect([pace.left, pace.newLeft, pace.isSpent, soon.length]).toEqual([0, 250, true, 2])
  soon[1]?.()
  expect([pace.left, pace.newLeft, pace.isSpent]).toEqual([1_000, 250, false])
})
