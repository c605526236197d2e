import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { SpaceSaving } from "../src/SpaceSaving.ts"

describe("SpaceSaving", () => {
  test("bounds every count from both sides, and knows each name that is counted more than its share", () => {
    const names = fc.array(fc.oneof(fc.nat(3), fc.nat(40)).map(String), { maxLength: 400, size: "max" })
    fc.assert(
      fc.property(names, fc.integer({ min: 2, max: 10 }), (counted, places) => {
        const sketch = new SpaceSaving(places)
        const truth = new Map<string, number>()
        for (const name of counted) {
          sketch.count(name, () => false)
          truth.set(name, (truth.get(name) ?? 0) + 1)
        }
        const known = [...truth.keys()].filter((name) => sketch.countAtMost(name) > 0)
        expect(known.length).toBe(Math.min(places, truth.size))
        for (const [name, count] of truth) {
          expect(sketch.countAtLeast(name)).toBeLessThanOrEqual(count)
          if (known.includes(name)) {
            expect(sketch.countAtLeast(name)).toBeGreaterThanOrEqual(1)
            expect(sketch.countAtMost(name)).toBeGreaterThanOrEqual(count)
          }
          if (count > counted.length / places) expect(known).toContain(name)
        }
      }),
    )
  })

  test("does not give up names that are kept", () => {
    const sketch = new SpaceSaving(2)
    for (const name of ["kept", "a", "b", "c"]) sketch.count(name, (known) => known === "kept")
    expect(sketch.countAtLeast("kept")).toBe(1)
    expect(sketch.countAtLeast("b")).toBe(0)
    expect(sketch.countAtLeast("c")).toBe(1)
  })
})
