/**
 * The ids of audit records. They sort newer records before older ones, because documents are listed by id and readers
 * of the trail want the newest first. An id is the time until the end of the scale, a falling number, which orders the
 * records of one process within a millisecond, and a name of the process, which keeps the ids of several nodes apart.
 */
import { randomBytes } from "node:crypto"

/** Later than every instant that the contract accepts, and the largest number of 15 digits. */
const endMs = 999_999_999_999_999
const timeDigits = 15
const numbersMax = 1_000_000
const numberDigits = 6
const form = /^\d{15}-\d{6}-[0-9a-f]{12}$/

/** Makes the ids of one process. */
export class AuditIds {
  readonly #process = randomBytes(6).toString("hex")
  #made = 0

  next(atMs: number): string {
    const number = numbersMax - 1 - (this.#made++ % numbersMax)
    return `${timeOf(atMs)}-${String(number).padStart(numberDigits, "0")}-${this.#process}`
  }
}

export const isAuditId = (text: string): boolean => form.test(text)

/** Sorts after all records of this instant and of later ones, and before all older records. */
export const afterInstant = (atMs: number): string => `${timeOf(atMs)}~`

const timeOf = (atMs: number): string =>
  String(endMs - Math.min(endMs, Math.max(0, atMs))).padStart(timeDigits, "0")
