// Fills a page of due timers from rows in the order of their due times. A page ends at its limit, or with the timer that
// brings it to the limit of bytes. The rows are read as the page needs them.
import type { Timer } from "../domain/Timer.ts"
import { duePageBytes } from "../ports/duePageBytes.ts"
import type { DuePage } from "../ports/TimerStore.ts"
import { textOfSpec } from "./SpecText.ts"

export const duePageOf = async (rows: AsyncIterable<Timer>, limit: number): Promise<DuePage> => {
  const timers: Array<Timer> = []
  let bytes = 0
  for await (const timer of rows) {
    if (timers.length === limit || bytes >= duePageBytes) return { timers, isLast: false }
    timers.push(timer)
    bytes += textOfSpec(timer.spec).length + (timer.payload?.byteLength ?? 0)
  }
  return { timers, isLast: true }
}
