// The heap against a sorted array.
import { expect, test } from "bun:test"
import fc from "fast-check"
import { compareDue } from "../../src/domain/DueOrder.ts"
import { DueHeap, type HeapItem } from "../../src/engine/DueHeap.ts"

const steps = fc.array(
  fc.record({
    op: fc.constantFrom("push", "push", "push", "pop", "remove", "keepNearest"),
    fireAt: fc.nat(9),
    place: fc.nat(30),
  }),
  { maxLength: 120 },
)

test("a heap gives what a sorted array gives, whatever is pushed, popped, removed or let go", () => {
  fc.assert(
    fc.property(steps, (sequence) => {
      const heap = new DueHeap<HeapItem>()
      let model: Array<HeapItem> = []
      let made = 0
      for (const { op, fireAt, place } of sequence) {
        if (op === "push") {
          const item = { fireAt, uuid: String((made++ * 7) % 10).padStart(2, "0") + made, heapIndex: -1 }
          heap.push(item)
          model = [...model, item].sort(compareDue)
        } else if (op === "pop") {
          expect(heap.pop()).toBe(model.shift())
        } else if (op === "keepNearest") {
          expect(heap.keepNearest(place)).toEqual(model.splice(place))
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
  heap.push({ fireAt: 1, uuid: "a", heapIndex: -1 })
  expect(heap.remove({ fireAt: 1, uuid: "a", heapIndex: 0 })).toBe(false)
  expect(heap.size).toBe(1)
})
