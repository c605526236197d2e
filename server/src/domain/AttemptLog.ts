// The attempts of an arming in short, oldest first: what timers and finished lives keep so that people can see what
// became of each. The log is bounded, and of many attempts the oldest are forgotten.
import type { Attempt } from "./Timer.ts"

export type AttemptLog = ReadonlyArray<Attempt>

/** How many of the latest attempts are kept. */
export const attemptsLogged = 20

/** The log after one more attempt. */
export const withAttempt = (log: AttemptLog | undefined, made: Attempt): AttemptLog =>
  log === undefined ? [made] : [...log.slice(1 - attemptsLogged), made]

/** What the log weighs beyond its first entry, which round sums count in. */
export const attemptLogBytes = (log: AttemptLog | undefined): number => {
  if (log === undefined || log.length < 2) return 0
  let bytes = 0
  for (const { error } of log) bytes += 100 + (error?.length ?? 0)
  return bytes
}
