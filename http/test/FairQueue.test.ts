import { expect, test } from "bun:test"
import { FairQueue } from "../src/FairQueue.ts"

const queueOf = (items: ReadonlyArray<string>): FairQueue<string> => {
  const queue = new FairQueue<string>()
  for (const item of items) queue.add(item.slice(0, 1), item)
  return queue
}

const takeAll = (queue: FairQueue<string>): ReadonlyArray<string> => {
  const taken: Array<string> = []
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item)
  return taken
}

test("groups take turns, and the items of a group keep their order", () => {
  const queue = queueOf(["a1", "a2", "a3", "a4", "b1", "c1", "c2"])
  expect(queue.size).toBe(7)
  expect(takeAll(queue)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3", "a4"])
  expect(queue.size).toBe(0)
})

test("an item that is added again keeps its place, and a deleted item is never taken", () => {
  const queue = queueOf(["a1", "a2", "b1", "b2", "a1"])
  expect(queue.size).toBe(4)
  expect([queue.delete("b", "b1"), queue.delete("b", "b1"), queue.delete("c", "a1")]).toEqual([
    true,
    false,
    false,
  ])
  expect(queue.size).toBe(3)
  expect(takeAll(queue)).toEqual(["a1", "b2", "a2"])
})

test("the last item of the group with the most items can be taken out, if there are more than a number", () => {
  const queue = queueOf(["a1", "b1", "b2", "b3", "c1", "c2"])
  expect([queue.sizeOf("b"), queue.sizeOf("d")]).toEqual([3, 0])
  expect(queue.takeFromLargest(3)).toBeUndefined()
  expect(queue.takeFromLargest(2)).toBe("b3")
  expect(queue.takeFromLargest(2)).toBeUndefined()
  expect(takeAll(queue)).toEqual(["a1", "b1", "c1", "b2", "c2"])
})
