// What one commit takes from the queue of a shard, with and without the caller's knowledge about keys.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { keyOfItem } from "../../../src/domain/WriteItem.ts"
import { LaneQueue, type WeighedWrite } from "../../../src/engine/writing/LaneQueue.ts"
import { runsOf } from "../../../testkit/effort.ts"
import { samplePut } from "../../../testkit/timers.ts"

const writeOf = (timerId: string, isOnlyOfKey: boolean, bytes = 1): WeighedWrite => ({
  item: samplePut({ timerId }),
  onAnswer: () => {},
  isOnlyOfKey,
  bytes,
})

const queueOf = (writes: ReadonlyArray<WeighedWrite>): LaneQueue => {
  const queue = new LaneQueue()
  for (const write of writes) queue.push(write)
  return queue
}

describe("the queue of a lane", () => {
  for (const isOnlyOfKey of [true, false]) {
    test(`takes what fits, in order, up to both limits (${isOnlyOfKey ? "only writes of their keys" : "unknown keys"})`, () => {
      const writes = ["a", "b", "c", "d", "e"].map((timerId) => writeOf(timerId, isOnlyOfKey, 10))
      const queue = queueOf(writes)
      expect(queue.take(2, 1_000)).toEqual(writes.slice(0, 2))
      expect(queue.take(10, 25)).toEqual(writes.slice(2, 4))
      expect(queue.take(10, 9)).toEqual([])
      expect(queue.length).toBe(1)
      expect(queue.takeFirst()).toBe(writes[4])
      expect(queue.take(10, 1_000)).toEqual([])
    })
  }

  test("takes a key once if a later write may have the same key", () => {
    const [first, other, again] = [writeOf("a", true), writeOf("b", true), writeOf("a", false)]
    const queue = queueOf([first, other, again])
    expect(queue.take(10, 1_000)).toEqual([first, other])
    expect(queue.take(10, 1_000)).toEqual([again])
  })

  test("takes each key once and loses nothing, for all sequences of pushes and takes", () => {
    const step = fc.oneof(
      fc.record({ push: fc.constantFrom("a", "b", "c", "d"), bytes: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ take: fc.integer({ min: 1, max: 6 }), bytes: fc.integer({ min: 1, max: 40 }) }),
      fc.constant("takeFirst" as const),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new LaneQueue()
        const model: Array<WeighedWrite> = []
        const idOf = ({ item }: WeighedWrite) => keyOfItem(item).timerId
        const remove = (taken: ReadonlyArray<WeighedWrite>) => {
          for (const write of taken) {
            // No earlier write of the key is still queued.
            expect(model.find((one) => idOf(one) === idOf(write))).toBe(write)
            model.splice(model.indexOf(write), 1)
          }
        }
        for (const one of steps) {
          if (one === "takeFirst") {
            const first = queue.takeFirst()
            expect(first).toBe(model[0])
            remove(first === undefined ? [] : [first])
          } else if ("push" in one) {
            const write = writeOf(one.push, !model.some((queued) => idOf(queued) === one.push), one.bytes)
            queue.push(write)
            model.push(write)
          } else {
            const firstFits = (model[0]?.bytes ?? 0) <= one.bytes
            const taken = queue.take(one.take, one.bytes)
            expect(new Set(taken.map(idOf)).size).toBe(taken.length)
            expect(taken.length).toBeLessThanOrEqual(one.take)
            expect(taken.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(one.bytes)
            expect(taken.length > 0).toBe(model.length > 0 && firstFits)
            remove(taken)
          }
          expect(queue.length).toBe(model.length)
        }
        expect(queue.takeAll()).toEqual(model)
        expect(queue.length).toBe(0)
      }),
      { numRuns: runsOf(400) },
    )
  })
})
