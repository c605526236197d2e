import { expect, test } from "bun:test"
import { nextTurn, nextUrgentTurn, SliceQueue } from "../src/nextTurn.ts"

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

/** A queue whose clock and event loop the test moves. */
const rig = () => {
  let nowMs = 1_000
  let tasks: Array<() => void> = []
  const rests: Array<number> = []
  const queue = new SliceQueue({
    nowMs: () => nowMs,
    soon: (task) => void tasks.push(task),
    after: (delayMs, task) => {
      rests.push(delayMs)
      tasks.push(task)
    },
  })
  /** Workers that each do some slices of this length. Resolves with the length of the rests. */
  const work = async (workers: number, slices: number, sliceMs: number): Promise<Array<number>> => {
    let left = workers * slices
    const worker = async () => {
      for (let slice = 0; slice < slices; slice++) {
        await queue.next()
        nowMs += sliceMs
        left--
      }
    }
    const all = Array.from({ length: workers }, worker)
    while (left > 0) {
      const [now, later] = [tasks, []]
      tasks = later
      for (const task of now) task()
      await Promise.resolve()
    }
    await Promise.all(all)
    return rests.splice(0)
  }
  return { queue, work }
}

test("slices follow each other without a rest", async () => {
  expect(await rig().work(3, 5, 2)).toEqual([])
})

test("for 100 ms after something came late, each slice is followed by a rest of its own length", async () => {
  const { queue, work } = rig()
  queue.restForAWhile()
  expect(await work(3, 4, 1.5)).toEqual(Array.from({ length: 11 }, () => 2))
  queue.restForAWhile()
  // The clock of the test moves only while slices run.
  expect((await work(1, 60, 2)).length).toBe(50)
})

test("a rest is short, although the slice was long", async () => {
  const { queue, work } = rig()
  queue.restForAWhile()
  expect(await work(1, 3, 30)).toEqual([4, 4])
})

test("everybody has a turn, although the queue does not become empty for long", async () => {
  const { work } = rig()
  expect(await work(40, 100, 0)).toEqual([])
})
