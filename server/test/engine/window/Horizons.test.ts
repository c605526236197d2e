// Where horizons end.
import { expect, test } from "bun:test"
import fc from "fast-check"
import { endOf, isBefore } from "../../../src/domain/DueOrder.ts"
import { Horizon } from "../../../src/engine/window/Horizons.ts"
import { dashed } from "../../../src/stores/sqlite/rows.ts"

const cursors = fc.record({
  fireAt: fc.integer({ min: 0, max: 3 }),
  fireId: fc
    .tuple(fc.nat(31), fc.constantFrom("0", "1", "9", "a", "f"), fc.constantFrom("0", "f"))
    .map(([place, digit, rest]) => dashed("0".repeat(place) + digit + rest.repeat(31 - place))),
})

test("a horizon that ends before a timer covers everything due before it, and not the timer", () => {
  fc.assert(
    fc.property(cursors, cursors, (timer, other) => {
      const horizon = new Horizon()
      horizon.advance(endOf(5))
      horizon.endBefore(timer, 700)
      expect(horizon.covers(other)).toBe(isBefore(other, timer))
      expect(horizon.nextBytes).toBe(700)
      // A horizon that already ends there does not change.
      horizon.endBefore(timer, 900)
      expect(horizon.nextBytes).toBe(700)
      // Beyond the horizon, the next timer is unknown.
      horizon.advance(endOf(6))
      expect(horizon.nextBytes).toBe(0)
    }),
    { numRuns: 2_000 },
  )
})
