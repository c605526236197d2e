// The bounds of a histogram: how many rows it examines, how many of them at once, and what it says when it stops.
import { expect, test } from "bun:test"
import type { Scan, ScannedHead } from "../../src/ports/ShardStorage.ts"
import type { HistogramQuery } from "../../src/ports/TimerStore.ts"
import { HistogramWalk, mostCountedAtOnce } from "../../src/stores/HistogramWalk.ts"
import { mostRowsCounted, mostRowsExamined } from "../../src/stores/ListOrder.ts"

const rowsInSlice = 1_000

/** A namespace has one row each millisecond. */
const pageOf = (scan: Scan, rows: number): ReadonlyArray<ScannedHead> => {
  const after = scan.exclusiveAfter?.[0]
  const begin = typeof after === "number" ? after + 1 : (scan.inclusiveFromMs ?? 0)
  const end = Math.min(rows, begin + scan.limit, scan.exclusiveUntilMs ?? rows)
  return Array.from({ length: Math.max(0, end - begin) }, (_, index) => ({
    namespace: String(scan.namespace),
    timerId: `t${begin + index}`,
    uuid: "00",
    place: scan.order === "due" ? [begin + index, "f"] : [`t${begin + index}`],
    state: "pending",
    fireId: "f",
    revision: 1,
    atMs: begin + index,
    correlationId: "c",
    details: {},
  }))
}

const walked = (query: HistogramQuery, rows: number) => {
  const walk = new HistogramWalk(query, false)
  let slices = 0
  for (let step = walk.step(); step.kind === "scan"; step = walk.step()) {
    const pages = step.scans.map((scan) => pageOf(scan, rows))
    expect(pages.reduce((sum, page) => sum + page.length, 0)).toBeLessThanOrEqual(rowsInSlice)
    walk.scanned(pages, step.scans)
    slices++
  }
  return { ...walk.result, slices }
}

const query: HistogramQuery = {
  namespace: "n",
  state: "pending",
  inclusiveFromMs: 0,
  exclusiveUntilMs: 400_000,
  buckets: 4,
}

test("a histogram examines up to its limit in slices, and then says how far it has counted", () => {
  const all = walked(query, mostRowsCounted)
  expect(all).toMatchObject({ counts: [100_000, 0, 0, 0], capped: false, examined: mostRowsCounted })
  expect(all.slices).toBeGreaterThanOrEqual(100)
  expect(all).not.toHaveProperty("exclusiveCountedUntilMs")
  expect(walked(query, mostRowsCounted + 1)).toMatchObject({
    counts: [100_000, 0, 0, 0],
    capped: true,
    examined: mostRowsCounted,
    exclusiveCountedUntilMs: mostRowsCounted,
  })
})

test("over several namespaces the earliest rows of all of them are counted first", () => {
  const namespace = { asked: ["a", "b"], names: ["a", "b"] }
  expect(walked({ ...query, namespace, exclusiveUntilMs: 100_000 }, 100_000)).toMatchObject({
    counts: [50_000, 50_000, 0, 0],
    capped: true,
    exclusiveCountedUntilMs: 50_000,
  })
})

test("a filter without an index examines fewer rows", () => {
  expect(walked({ ...query, host: "rare.test" }, 20_000)).toMatchObject({
    counts: [0, 0, 0, 0],
    capped: true,
    examined: mostRowsExamined,
    exclusiveCountedUntilMs: mostRowsExamined,
  })
})

test("the buckets of a span that they do not divide evenly differ by at most one millisecond", () => {
  const { counts } = walked({ ...query, exclusiveUntilMs: 1_000, buckets: 7 }, 2_000)
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1_000)
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
})

test("a storage that can count does so if the scans find only matches, and the rows are scanned if there are too many", () => {
  const walk = new HistogramWalk(query, true)
  const step = walk.step()
  if (step.kind !== "count") throw new Error("the storage is not asked to count")
  expect(step).toMatchObject({ buckets: { from: 0, until: 400_000, buckets: 4 }, limit: mostCountedAtOnce })
  walk.counted([1, 2, 3, 4])
  expect(walk.step()).toEqual({ kind: "done" })
  expect(walk.result).toEqual({ counts: [1, 2, 3, 4], examined: 10, capped: false })

  const many = new HistogramWalk(query, true)
  many.step()
  many.counted(undefined)
  expect(many.step().kind).toBe("scan")

  for (const filter of [{ host: "h.test" }, { idPrefix: "t" }] as const) {
    expect(new HistogramWalk({ ...query, ...filter }, true).step().kind).toBe("scan")
  }
})
