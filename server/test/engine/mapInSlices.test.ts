import { expect, test } from "bun:test"
import { Effect } from "effect"
import { mapInSlices } from "../../src/engine/mapInSlices.ts"
import { turnsDuring } from "../../testkit/turnsDuring.ts"

/** How often another fiber had a turn while 100 items were handled, each of which takes this long. */
const turnsWhile = (itemMs: number) => {
  let nowMs = 0
  const items = Array.from({ length: 100 }, (_, index) => index)
  const work = mapInSlices(
    items,
    (item, index) => {
      nowMs += itemMs
      return item + index
    },
    { nowMs: () => nowMs },
  )
  const checked = Effect.map(work, (done) => expect(done).toEqual(items.map((item) => 2 * item)))
  return turnsDuring(checked)
}

test("items that take long let others run in between, and quick ones do not", async () => {
  // The clock is read before every eighth item.
  expect(await Effect.runPromise(turnsWhile(1))).toBeGreaterThanOrEqual(12)
  expect(await Effect.runPromise(turnsWhile(0.01))).toBeLessThanOrEqual(1)
})
