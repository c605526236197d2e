// Due order is (fireAt, uuid), here and in every store: cursors, heaps and pages all compare by it.
import type { Uuid } from "./Timer.ts"

export interface Cursor {
  readonly fireAt: number
  readonly uuid: Uuid
}

/** Before every timer. */
export const beginning: Cursor = { fireAt: -1, uuid: "0".repeat(32) }

/** At or after every timer that is due at `fireAt`. */
export const endOf = (fireAt: number): Cursor => ({ fireAt, uuid: lastUuid })

const lastUuid = "f".repeat(32)

export const isBefore = (a: Cursor, b: Cursor): boolean =>
  a.fireAt < b.fireAt || (a.fireAt === b.fireAt && a.uuid < b.uuid)

export const compareDue = (a: Cursor, b: Cursor): number => (isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0)
