import { expect, test } from "bun:test"
import { SlicedCalls } from "../../../src/stores/sqlite/SlicedCalls.ts"

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Notes each slice and its turn of the thread. */
const rig = () => {
  const calls = new SlicedCalls()
  const log: Array<string> = []
  const add = (call: number, slices: number, broken = false) => {
    const work = function* (): Generator<void, string> {
      for (let slice = 1; slice < slices; slice++) {
        log.push(`${call}`)
        yield
      }
      log.push(`${call}`)
      if (broken) throw new Error("broken")
      return `answer ${call}`
    }
    calls.add(call, {
      slices: work(),
      finish: (value) => log.push(String(value)),
      fail: (error) => log.push(String(error)),
    })
  }
  return { calls, log, add }
}

test("the calls take turns, and the thread has a turn after every slice", async () => {
  const { log, add } = rig()
  add(1, 3)
  add(2, 2)
  expect(log).toEqual([])
  const seen: Array<number> = []
  for (let turns = 0; turns < 5; turns++) {
    await turn()
    seen.push(log.filter((entry) => !entry.startsWith("answer")).length)
  }
  expect(seen).toEqual([1, 2, 3, 4, 5])
  expect(log).toEqual(["1", "2", "1", "2", "answer 2", "1", "answer 1"])
})

test("a dropped call stops, and a failed one does not stop the others", async () => {
  const { calls, log, add } = rig()
  add(1, 100)
  add(2, 1, true)
  add(3, 1)
  await turn()
  calls.drop(1)
  for (let turns = 0; turns < 5; turns++) await turn()
  expect(log).toEqual(["1", "2", "Error: broken", "3", "answer 3"])
})

test("before the thread ends, all calls are carried out", () => {
  const { calls, log, add } = rig()
  add(1, 3)
  calls.finishAll()
  expect(log).toEqual(["1", "1", "1", "answer 1"])
})
