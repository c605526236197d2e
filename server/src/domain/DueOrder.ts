// Due order is (fireAt, fireId), here and in every store: cursors, heaps and pages all compare by it. No two armings have
// the same fireId, and as fireIds begin with the time they were made at, timers that are due in the same instant come
// in the order in which they were armed: nearly that in which they lie in the store, so that a burst that is read and
// settled goes through its pages once, instead of back and forth.

export interface Cursor {
  readonly fireAt: number
  /** As a UUID is written, in lower case: texts then compare as their bytes do. */
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
