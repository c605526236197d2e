import { describe, expect, test } from "bun:test"
import { runsOf } from "@punctual/server/testkit/effort"
import fc from "fast-check"
import { GroupsBySize, type SizedGroup } from "../../src/listener/GroupsBySize.ts"

/** Groups that count how often somebody asks for their sizes. */
const rig = (count: number) => {
  const seen = { reads: 0 }
  const groupOf = () => {
    const own = { items: 0 }
    const group: SizedGroup = {
      slot: 0,
      get size() {
        seen.reads++
        return own.items
      },
    }
    return { own, group }
  }
  const all = Array.from({ length: count }, groupOf)
  const bySize = new GroupsBySize<SizedGroup>()
  const at = (index: number) => {
    const one = all[index]
    if (one === undefined) throw new Error(`there is no group ${index}`)
    return one
  }
  const grow = (index: number) => {
    at(index).own.items++
    bySize.grown(at(index).group)
  }
  const shrink = (index: number) => {
    if (at(index).own.items === 0) return
    at(index).own.items--
    bySize.shrunk(at(index).group)
  }
  const largest = () => {
    const found = bySize.largest
    return all.findIndex(({ group }) => group === found)
  }
  return { all, seen, grow, shrink, largest }
}

describe("the largest of many groups", () => {
  test("is known after any growing and shrinking of any group", () => {
    const step = fc.record({ grows: fc.boolean(), index: fc.nat({ max: 4 }) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
        const { all, grow, shrink, largest } = rig(5)
        for (const { grows, index } of steps) {
          if (grows) grow(index)
          else shrink(index)
          expect(all[largest()]?.own.items ?? 0).toBe(Math.max(...all.map(({ own }) => own.items)))
        }
      }),
      { numRuns: runsOf(400) },
    )
  })

  test("is found without a look at the others, however many there are and however often one makes room", () => {
    const [groups, floods] = [5_000, 2_000]
    const { all, seen, grow, shrink, largest } = rig(groups)
    for (let index = 0; index < groups; index++) grow(index)
    for (let index = 0; index < groups / 2; index++) grow(index)
    seen.reads = 0
    for (let flood = 0; flood < floods; flood++) {
      shrink(largest())
      grow(groups - 1 - flood)
    }
    expect([seen.reads, all[largest()]?.own.items]).toEqual([2 * floods, 2])
  })
})
