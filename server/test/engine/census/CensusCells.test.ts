// Counts by namespace and hour: what they say about a span of time, and what happens at the limit of cells.
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { type CellCounts, CensusCells } from "../../../src/engine/census/CensusCells.ts"
import { runsOf } from "../../../testkit/effort.ts"

const hour = 3_600_000
const day = 24 * hour
const begin = 20_000 * day

const total = ({ counts }: { readonly counts: ReadonlyArray<number> }) =>
  counts.reduce((sum, count) => sum + count, 0)

type Asked = Parameters<CensusCells["countsIn"]>

const countsIn = (cells: CensusCells, ...asked: Asked): CellCounts => {
  const slices = cells.countsIn(...asked)
  for (;;) {
    const slice = slices.next()
    if (slice.done === true) return slice.value
  }
}

const everything = { from: 0, until: 100_000 * day, buckets: 1 }

describe("the counts of a span", () => {
  test("are exact if each bucket has whole hours, for all namespaces or for those that are asked for", () => {
    const cells = new CensusCells(1_000)
    for (const [namespace, hours] of [
      ["a", 0],
      ["a", 0.9],
      ["a", 5],
      ["b", 1],
    ] as const) {
      cells.add(namespace, begin + hours * hour)
    }
    const span = { from: begin, until: begin + 6 * hour, buckets: 6 }
    expect(countsIn(cells, span, undefined, 1).counts).toEqual([2, 1, 0, 0, 0, 1])
    expect(countsIn(cells, span, ["a"], 1).counts).toEqual([2, 0, 0, 0, 0, 1])
    expect(countsIn(cells, { ...span, buckets: 2 }, ["b", "none"], 1).counts).toEqual([1, 0])
    expect(countsIn(cells, span, undefined, 2).counts).toEqual([4, 2, 0, 0, 0, 2])
    cells.remove("a", begin)
    cells.remove("b", begin + hour)
    cells.remove("b", begin + hour)
    expect(countsIn(cells, span, undefined, 1).counts).toEqual([1, 0, 0, 0, 0, 1])
    expect(cells.size).toBe(2)
  })

  test("spread a cell over smaller buckets and lose no timer by rounding", () => {
    const cells = new CensusCells(1_000)
    for (let timer = 0; timer < 200; timer++) cells.add("a", begin)
    const { counts } = countsIn(cells, { from: begin, until: begin + hour, buckets: 500 }, undefined, 1)
    expect(total({ counts })).toBe(200)
    expect(Math.max(...counts)).toBe(1)
    const half = countsIn(
      cells,
      { from: begin + hour / 2, until: begin + 2 * hour, buckets: 3 },
      undefined,
      1,
    )
    expect(half.counts).toEqual([100, 0, 0])
  })
})

test("many cells are added in slices", () => {
  const cells = new CensusCells(100_000)
  for (let hours = 0; hours < 20_000; hours++) cells.add("a", begin + hours * hour)
  expect([...cells.countsIn(everything, undefined, 1)].length).toBeGreaterThanOrEqual(4)
})

describe("at the limit of cells", () => {
  test("hours that have no cell count by day, then by 32 days, and further namespaces together", () => {
    const cells = new CensusCells(100)
    const put = (namespace: string, hours: number) => cells.add(namespace, begin + hours * hour)
    // Hours take 80 of the cells, days 15 more.
    for (let hours = 0; hours < 80; hours++) put("a", hours)
    expect(cells.size).toBe(80)
    for (let hours = 100; hours < 124; hours++) put("a", hours)
    expect(cells.size).toBeLessThanOrEqual(82)
    for (let days = 10; days < 60; days++) put("a", days * 24)
    for (let other = 0; other < 50; other++) put(`n${other}`, 0)
    expect(cells.size).toBeLessThanOrEqual(101)
    expect(total(countsIn(cells, everything, undefined, 1))).toBe(80 + 24 + 50 + 50)
    expect(countsIn(cells, everything, undefined, 1).lacksSome).toBe(false)
    expect(countsIn(cells, everything, ["a"], 1)).toEqual({ counts: [154], lacksSome: true })
    // Hours that have a cell still count by hour.
    put("a", 0)
    expect(countsIn(cells, { from: begin, until: begin + hour, buckets: 1 }, ["a"], 1).counts).toEqual([2])
  })

  test("no timer is lost or left over, whatever comes and goes, and few namespaces are remembered", () => {
    const any = fc.record({ namespace: fc.nat(30), hours: fc.nat(2_000) })
    fc.assert(
      fc.property(fc.array(any, { maxLength: 300 }), fc.integer({ min: 1, max: 60 }), (timers, mostCells) => {
        const cells = new CensusCells(mostCells)
        const at = (hours: number) => begin + hours * hour
        for (const { namespace, hours } of timers) {
          cells.add(`n${namespace}`, at(hours))
          // 2,000 hours are at most four cells of 32 days.
          expect(cells.size).toBeLessThanOrEqual(mostCells + 4)
        }
        expect(total(countsIn(cells, everything, undefined, 1))).toBe(timers.length)
        for (const { namespace, hours } of timers) cells.remove(`n${namespace}`, at(hours))
        expect(total(countsIn(cells, everything, undefined, 1))).toBe(0)
        expect(cells.size).toBe(0)
      }),
      { numRuns: runsOf(200) },
    )
  })
})
