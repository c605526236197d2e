// An attempt that is running.
import type { Entry } from "../window/Entry.ts"

export interface Flight {
  readonly entry: Entry
  readonly attempt: number
  readonly startedAt: number
  /** When the request was sent, by the wall clock; `undefined` if it was not sent yet. */
  sentAt: number | undefined
}
