// Compares the heap with a sorted array.
import { expect, test } from "bun:test"
import fc from "fast-check"
import { compareDue } from "../../../src/domain/DueOrder.ts"
import { DueHeap, type HeapItem, rankOf, subrankOf } from "../../../src/engine/window/DueHeap.ts"

/**
 * FireIds differ in their first digits, in the middle, or only in their last digit. The heap compares them by rank, or
 * only as texts.
 */
const itemOf = (fireAt: number, made: number): HeapItem => {
  const last = String((made * 7919) % 10_000).padStart(12, "0")
  const fireId = `${(made * 7) % 3}0000000-0000-700${(made * 5) % 2}-800${(made * 11) % 2}-${last}`
  return { fireAt, fireId, rank: rankOf(fireId), subrank: subrankOf(fireId), heapIndex: -1 }
}

const steps = fc.array(
  fc.record({
    op: fc.constantFrom("push", "push", "push", "pop", "remove"),
    fireAt: fc.nat(9),
    place: fc.nat(30),
  }),
  { maxLength: 120 },
)

test("a heap gives what a sorted array gives, for any pushes, pops and removals", () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const heap = new DueHeap<HeapItem>()
      let model: Array<HeapItem> = []
      let made = 0
      for (const { op, fireAt, place } of sequence) {
        if (op === "push") {
          const item = itemOf(fireAt, made++)
          heap.push(item)
          model = [...model, item].sort(compareDue)
        } else if (op === "pop") {
          expect(heap.pop()).toBe(model.shift())
        } else {
          const item = model[place]
          if (item === undefined) continue
          expect(heap.remove(item)).toBe(true)
          expect(heap.remove(item)).toBe(false)
          expect(item.heapIndex).toBe(-1)
          model.splice(place, 1)
        }
        expect(heap.size).toBe(model.length)
        expect(heap.peek()).toBe(model[0])
        expect([...heap.values()].sort(compareDue)).toEqual(model)
      }
    }),
    { numRuns: 300 },
  )
})

test("an item that the heap never held is not removed from it", () => {
  const heap = new DueHeap<HeapItem>()
  heap.push(itemOf(1, 1))
  expect(heap.remove({ ...itemOf(1, 1), heapIndex: 0 })).toBe(false)
  expect(heap.size).toBe(1)
})
