// Due order is (fireAt, fireId), here and in every store: cursors, heaps and pages all use it. No two armings have the
// same fireId. FireIds begin with the time at which they were made, so timers that are due in the same instant come in
// the order in which they were armed. That is nearly their order in the store, so reading and settling many timers goes
// through the pages of the store once, and not back and forth.

export interface Cursor {
  readonly fireAt: number
  /** A UUID in lower case, so that strings compare like their bytes. */
  readonly fireId: string
}

/** Before every timer. */
export const beginning: Cursor = { fireAt: -1, fireId: "00000000-0000-0000-0000-000000000000" }

/** At or after every timer that is due at `fireAt`. */
export const endOf = (fireAt: number): Cursor => ({ fireAt, fireId: lastFireId })

const lastFireId = "ffffffff-ffff-ffff-ffff-ffffffffffff"

export const isBefore = (a: Cursor, b: Cursor): boolean =>
  a.fireAt < b.fireAt || (a.fireAt === b.fireAt && a.fireId < b.fireId)

export const compareDue = (a: Cursor, b: Cursor): number => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0)
