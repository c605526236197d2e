import { expect, test } from "bun:test"
import { SliceQueue } from "../src/SliceQueue.ts"

/** Ends a test whose queue never calls its work again. */
const roundsMax = 100_000

/** A queue whose clock and event loop the test moves. Each turn of the loop also does other work for a while. */
const rig = ({ otherWorkMs = 0 } = {}) => {
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
    for (let round = 0; left > 0; round++) {
      if (round > roundsMax) throw new Error(`${left} slices never had a turn`)
      const [now, later] = [tasks, []]
      tasks = later
      for (const task of now) task()
      // The slice runs, and its worker comes back to the queue.
      await Promise.resolve()
      await Promise.resolve()
      nowMs += otherWorkMs
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
  expect(await work(3, 4, 2)).toEqual(Array.from({ length: 11 }, () => 2))
  queue.restForAWhile()
  // The clock of the test moves only while slices run.
  expect((await work(1, 60, 2)).length).toBe(50)
})

test("a rest is as long as the slice, although other work of the turn took longer", async () => {
  const { queue, work } = rig({ otherWorkMs: 10 })
  queue.restForAWhile()
  expect(await work(1, 4, 2)).toEqual([2, 2, 2])
})

test("a slice after which its work does not come back counts as one of the usual length", async () => {
  const { queue, work } = rig({ otherWorkMs: 10 })
  queue.restForAWhile()
  // The last slice of a worker ends its work.
  expect(await work(3, 1, 0.5)).toEqual([2, 2])
})

test("short slices share a rest", async () => {
  const { queue, work } = rig({ otherWorkMs: 1 })
  queue.restForAWhile()
  expect(await work(1, 21, 0.25)).toEqual([1, 1, 1, 1, 1])
})

test("a rest is bounded, although the slice was long", async () => {
  const { queue, work } = rig()
  queue.restForAWhile()
  expect(await work(1, 3, 30)).toEqual([20, 20])
})

test("everybody has a turn, although the queue does not become empty for long", async () => {
  const { work } = rig()
  expect(await work(40, 100, 0)).toEqual([])
})
