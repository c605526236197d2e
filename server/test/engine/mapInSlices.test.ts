import { expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import { mapInSlices } from "../../src/engine/mapInSlices.ts"

/** How often another fiber had a turn while 100 items were handled, each of which takes this long. */
const turnsWhile = (itemMs: number) =>
  Effect.gen(function* () {
    let nowMs = 0
    let turns = 0
    const other = yield* Effect.forkChild(
      Effect.gen(function* () {
        for (;;) {
          yield* Effect.yieldNow
          turns++
        }
      }),
    )
    yield* Effect.yieldNow
    const before = turns
    const items = Array.from({ length: 100 }, (_, index) => index)
    const done = yield* mapInSlices(
      items,
      (item, index) => {
        nowMs += itemMs
        return item + index
      },
      () => nowMs,
    )
    expect(done).toEqual(items.map((item) => 2 * item))
    const during = turns - before
    yield* Fiber.interrupt(other)
    return during
  })

test("items that take long let others run in between, and quick ones do not", async () => {
  // The clock is read before every eighth item.
  expect(await Effect.runPromise(turnsWhile(1))).toBeGreaterThanOrEqual(12)
  expect(await Effect.runPromise(turnsWhile(0.01))).toBeLessThanOrEqual(1)
})
