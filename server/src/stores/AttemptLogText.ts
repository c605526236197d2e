// Attempt logs as the JSON text that SQL stores keep, and back. The column is called `last_attempt`, and held just that
// at first, one object: such a text is a log of one.
import type { AttemptLog } from "../domain/AttemptLog.ts"

export const textOfLog = (log: AttemptLog): string => JSON.stringify(log)

export const logOfText = (text: string): AttemptLog => {
  const kept: unknown = JSON.parse(text)
  return (Array.isArray(kept) ? kept : [kept]) as AttemptLog
}
