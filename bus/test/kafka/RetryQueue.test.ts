import { expect, test } from "bun:test"
import { type RetryEntry, RetryQueue } from "../../src/kafka/RetryQueue.ts"

const entry = (key: string, originOffset: number, more: Partial<RetryEntry> = {}): RetryEntry => ({
  key,
  origin: `${originOffset}-1`,
  originOffset,
  offset: originOffset,
  deliveries: 1,
  dueAtMs: 0,
  isBegun: false,
  ...more,
})

const queueOf = (...entries: ReadonlyArray<RetryEntry>): RetryQueue => {
  const queue = new RetryQueue()
  for (const one of entries) queue.add(one)
  return queue
}

test("the messages of a key come in the order of publishing, one at a time, whatever the order of their copies", () => {
  const [first, second] = [entry("a", 1, { offset: 9 }), entry("a", 2, { offset: 3 })]
  const queue = queueOf(second, first)
  expect(queue.takeDue(0, true)).toBe(first)
  expect(queue.takeDue(0, true)).toBeUndefined()
  queue.remove(first)
  expect(queue.takeDue(0, true)).toBe(second)
  expect(queue.isParked("a")).toBe(true)
  queue.remove(second)
  expect(queue.isParked("a")).toBe(false)
})

test("a message that is not due holds its own key back, and no other", () => {
  const queue = queueOf(entry("a", 1, { dueAtMs: 100 }), entry("a", 2), entry("b", 3))
  expect(queue.takeDue(99, true)?.originOffset).toBe(3)
  expect(queue.takeDue(99, true)).toBeUndefined()
  expect(queue.nextDueAtMs(true)).toBe(100)
  expect(queue.takeDue(100, true)?.originOffset).toBe(1)
})

test("a message that is put back is due again", () => {
  const one = entry("a", 1)
  const queue = queueOf(one)
  expect(queue.takeDue(0, true)).toBe(one)
  queue.putBack(one)
  expect(queue.takeDue(0, true)).toBe(one)
})

test("a newer copy takes the place of the older one, and can stay out", () => {
  const older = entry("a", 1)
  const queue = queueOf(older)
  expect(queue.takeDue(0, true)).toBe(older)
  const counted = entry("a", 1, { offset: 7, deliveries: 2, isBegun: true })
  expect(queue.add(counted, true)).toBe(older)
  expect(queue.takeDue(0, true)).toBeUndefined()
  const failed = entry("a", 1, { offset: 8, deliveries: 2, dueAtMs: 50 })
  expect(queue.add(failed)).toBe(counted)
  expect(queue.takeDue(50, true)).toBe(failed)
})

test("a suspect waits until it may be taken, and is known as out until it is done", () => {
  const suspect = entry("a", 1, { deliveries: 2, isBegun: true })
  const queue = queueOf(suspect, entry("b", 2, { deliveries: 1, isBegun: true }))
  expect(queue.takeDue(0, false)?.originOffset).toBe(2)
  expect(queue.takeDue(0, false)).toBeUndefined()
  expect(queue.nextDueAtMs(false)).toBeUndefined()
  expect(queue.hasSuspectOut).toBe(false)
  expect(queue.takeDue(0, true)).toBe(suspect)
  const counted = entry("a", 1, { offset: 7, deliveries: 3, isBegun: true })
  queue.add(counted, true)
  expect(queue.hasSuspectOut).toBe(true)
  queue.remove(counted)
  expect(queue.hasSuspectOut).toBe(false)
})
