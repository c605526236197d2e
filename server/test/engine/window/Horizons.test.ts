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

test("a horizon that ends before a timer covers all that is due before it, and not the timer", () => {
  fc.assert(
    fc.property(cursors, cursors, (timer, other) => {
      const horizon = new Horizon()
      horizon.advance(endOf(5))
      horizon.endBefore(timer, 700)
      expect(horizon.covers(other)).toBe(isBefore(other, timer))
      expect(horizon.nextBytes).toBe(700)
      // One that ends there already stays as it is.
      horizon.endBefore(timer, 900)
      expect(horizon.nextBytes).toBe(700)
      // Beyond it, nothing is known of what comes next.
      horizon.advance(endOf(6))
      expect(horizon.nextBytes).toBe(0)
    }),
    { numRuns: 2_000 },
  )
})
