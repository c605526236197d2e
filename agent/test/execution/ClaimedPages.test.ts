import { expect, test } from "bun:test"
import { ClaimedPages } from "../../src/execution/ClaimedPages.ts"

/** The instants that the pages of these attempts reach, if none of them ever begins. */
const seenIn = (claimedAt: ReadonlyArray<number>, reads: number): ReadonlyArray<number> => {
  const pages = new ClaimedPages(3)
  const seen: Array<number> = []
  for (let read = 0; read < reads; read++) {
    const { fromMs, exclusiveBeforeMs } = pages.next(100)
    const page = claimedAt.filter((at) => at >= fromMs && at < exclusiveBeforeMs).slice(0, 3)
    pages.wasRead(page.map((at) => ({ claimedAt: at })))
    seen.push(...page)
  }
  return [...new Set(seen)]
}

test("every attempt is read, however many before it do not begin", () => {
  expect(seenIn([1, 2, 3, 4, 5, 6, 7, 8, 9], 4)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test("many attempts of one instant do not stop the reads", () => {
  expect(seenIn([1, 1, 1, 1, 1, 2, 3], 3)).toEqual([1, 2, 3])
})

test("after the last page the first one is read again", () => {
  const pages = new ClaimedPages(2)
  pages.wasRead([{ claimedAt: 5 }, { claimedAt: 6 }])
  expect(pages.next(9)).toEqual({ fromMs: 6, exclusiveBeforeMs: 9 })
  pages.wasRead([{ claimedAt: 6 }])
  expect(pages.next(9)).toEqual({ fromMs: 0, exclusiveBeforeMs: 9 })
})
