import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { SortedList } from "../../../src/stores/memory/SortedList.ts"

const compare = (a: number, b: number): number => a - b

describe("SortedList", () => {
  test("holds what was added and not removed, in order, in both directions, from any bound", () => {
    const edits = fc.array(fc.record({ value: fc.nat(1_500), isRemoval: fc.boolean() }), {
      maxLength: 3_000,
      size: "max",
    })
    fc.assert(
      fc.property(edits, fc.nat(1_500), (sequence, bound) => {
        const list = new SortedList<number>(compare)
        const model = new Set<number>()
        for (const { value, isRemoval } of sequence) {
          if (isRemoval) {
            list.remove(value)
            model.delete(value)
          } else if (!model.has(value)) {
            list.add(value)
            model.add(value)
          }
        }
        const expected = [...model].sort(compare)
        expect(list.size).toBe(expected.length)
        expect([...list.upFrom((value) => value >= bound)]).toEqual(
          expected.filter((value) => value >= bound),
        )
        expect([...list.downFrom((value) => value > bound)]).toEqual(
          expected.filter((value) => value <= bound).reverse(),
        )
        expect([...list.downFrom(() => false)]).toEqual([...expected].reverse())
      }),
      { numRuns: 40 },
    )
  })
})
