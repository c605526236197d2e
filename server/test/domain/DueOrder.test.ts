import { expect, test } from "bun:test"
import fc from "fast-check"
import { beginning, type Cursor, compareDue, endOf, isBefore } from "../../src/domain/DueOrder.ts"

/** Few instants, so that fireIds often decide the order. */
const cursor: fc.Arbitrary<Cursor> = fc.record({ fireAt: fc.nat(3), fireId: fc.uuid() })

const bytesOf = (fireId: string): Buffer => Buffer.from(fireId.replaceAll("-", ""), "hex")

test("due order is the order of instants, then of the fireIds' sixteen bytes", () => {
  fc.assert(
    fc.property(cursor, cursor, (a, b) => {
      const byBytes = Buffer.compare(bytesOf(a.fireId), bytesOf(b.fireId))
      expect(Math.sign(compareDue(a, b))).toBe(Math.sign(a.fireAt - b.fireAt || byBytes))
      expect(isBefore(a, b)).toBe(compareDue(a, b) < 0)
    }),
  )
})

test("due order is total and transitive", () => {
  fc.assert(
    fc.property(cursor, cursor, cursor, (a, b, c) => {
      expect(compareDue(a, b)).toBe(0 - compareDue(b, a))
      if (isBefore(a, b) && isBefore(b, c)) expect(isBefore(a, c)).toBe(true)
    }),
  )
})

test("the beginning is before every timer, and the end of an instant is at or after every timer due by it", () => {
  fc.assert(
    fc.property(cursor, (timer) => {
      expect(isBefore(beginning, timer)).toBe(true)
      expect(isBefore(endOf(timer.fireAt), timer)).toBe(false)
      expect(isBefore(endOf(timer.fireAt - 1), timer)).toBe(true)
    }),
  )
})
