// The attempts of an arming in short, oldest first. Timers and finished lives keep them so that people can see how each
// attempt ended. The log is bounded: of many attempts it keeps the latest.
import type { Attempt } from "./Timer.ts"

export type AttemptLog = ReadonlyArray<Attempt>

/** How many of the latest attempts are kept. */
export const attemptsLogged = 20

/** The log after one more attempt. */
export const withAttempt = (log: AttemptLog | undefined, made: Attempt): AttemptLog =>
  log === undefined ? [made] : [...log.slice(1 - attemptsLogged), made]

/** What the log weighs: its answers, and all entries if there are several. A round sum for the timer covers one entry. */
export const attemptLogBytes = (log: AttemptLog | undefined): number => {
  if (log === undefined) return 0
  let bytes = 0
  for (const { error, answer } of log) {
    if (log.length > 1) bytes += 100 + (error?.length ?? 0)
    bytes += answer?.length ?? 0
  }
  return bytes
}

/** The log without what receivers answered, for where that is not shown. */
export const withoutAnswers = (log: AttemptLog): AttemptLog =>
  log.some(({ answer }) => answer !== undefined) ? log.map(({ answer: _, ...attempt }) => attempt) : log
