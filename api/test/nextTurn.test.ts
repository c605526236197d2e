import { expect, test } from "bun:test"
import { nextTurn, restBetweenSlices } from "../src/nextTurn.ts"

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

test("after something came late, those who wait continue with rests in between", async () => {
  const turnsFor = async (pieces: number): Promise<number> => {
    let turns = 0
    let isOver = false
    const each = (): void => {
      turns++
      if (!isOver) setImmediate(each)
    }
    setImmediate(each)
    for (let piece = 0; piece < pieces; piece++) await nextTurn()
    isOver = true
    return turns
  }
  expect(await turnsFor(8)).toBeLessThan(20)
  restBetweenSlices()
  expect(await turnsFor(8)).toBeGreaterThan(100)
})
