import { expect, test } from "bun:test"
import fc from "fast-check"
import { beginning, type Cursor, compareDue, endOf, isBefore } from "../../src/domain/DueOrder.ts"

const uuid = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString("hex"))
/** Few instants, so that uuids often decide. */
const cursor: fc.Arbitrary<Cursor> = fc.record({ fireAt: fc.nat(3), uuid })

test("due order is the order of instants, then of the uuids' sixteen bytes", () => {
  fc.assert(
    fc.property(cursor, cursor, (a, b) => {
      const byBytes = Buffer.compare(Buffer.from(a.uuid, "hex"), Buffer.from(b.uuid, "hex"))
      expect(Math.sign(compareDue(a, b))).toBe(Math.sign(a.fireAt - b.fireAt || byBytes))
      expect(isBefore(a, b)).toBe(compareDue(a, b) < 0)
    }),
  )
})

test("due order is total: any two are ordered, and it carries over", () => {
  fc.assert(
    fc.property(cursor, cursor, cursor, (a, b, c) => {
      expect(compareDue(a, b)).toBe(0 - compareDue(b, a))
      if (isBefore(a, b) && isBefore(b, c)) expect(isBefore(a, c)).toBe(true)
    }),
  )
})

test("the beginning is before every timer, and the end of an instant at or after all that are due by it", () => {
  fc.assert(
    fc.property(cursor, (timer) => {
      expect(isBefore(beginning, timer)).toBe(true)
      expect(isBefore(endOf(timer.fireAt), timer)).toBe(false)
      expect(isBefore(endOf(timer.fireAt - 1), timer)).toBe(true)
    }),
  )
})
