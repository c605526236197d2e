import { expect, test } from "bun:test"
import { nextTurn, nextUrgentTurn } from "../src/nextTurn.ts"

test("only one of those who wait continues in each turn of the event loop, in the order in which they came", async () => {
  const continued: Array<number> = []
  let turns = 0
  const each = (): void => {
    turns++
    if (continued.length < 5) setImmediate(each)
  }
  setImmediate(each)
  const perTurn: Array<number> = []
  const work = async (piece: number) => {
    await nextTurn()
    continued.push(piece)
    perTurn.push(turns)
  }
  await Promise.all([0, 1, 2, 3, 4].map(work))
  expect(continued).toEqual([0, 1, 2, 3, 4])
  expect(new Set(perTurn).size).toBe(5)
  // Nobody is left behind after a pause.
  await nextTurn()
})

test("urgent work does not wait for the work of callers", async () => {
  let served = 0
  const callers = Array.from({ length: 20 }, () => nextTurn().then(() => served++))
  await nextUrgentTurn()
  expect(served).toBeLessThan(5)
  await Promise.all(callers)
})
