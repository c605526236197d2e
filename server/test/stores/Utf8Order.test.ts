import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { compareUtf8, endOfPrefix } from "../../src/stores/Utf8Order.ts"

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom("a", "b", "\ud7ff", "\ue000", "\u{10000}", "\u{10ffff}"),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
  ),
  maxLength: 6,
})

describe("UTF-8 order", () => {
  test("is the order of the bytes", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)))
      }),
      { numRuns: 2_000 },
    )
  })

  test("a string begins with a prefix exactly if it lies between the prefix and the end of that prefix", () => {
    fc.assert(
      fc.property(text, fc.oneof(text, fc.constant("")), text, (prefix, rest, other) => {
        fc.pre(prefix !== "")
        const end = endOfPrefix(prefix)
        for (const candidate of [prefix + rest, other]) {
          const isBetween =
            compareUtf8(candidate, prefix) >= 0 && (end === undefined || compareUtf8(candidate, end) < 0)
          expect(isBetween).toBe(candidate.startsWith(prefix))
        }
      }),
      { numRuns: 2_000 },
    )
  })
})
