// A short log of the attempts of an arming, oldest first. Timers and finished lives keep it so that people can see how
// each attempt ended. The log keeps only the latest attempts.
import type { Attempt } from "./Timer.ts"

export type AttemptLog = ReadonlyArray<Attempt>

/** How many of the latest attempts are kept. */
export const attemptsLogged = 20

/** The log after one more attempt. */
export const withAttempt = (log: AttemptLog | undefined, made: Attempt): AttemptLog =>
  log === undefined ? [made] : [...log.slice(1 - attemptsLogged), made]

/**
 * The size of the log: its answers, and all entries if there are several. The flat size of a timer covers one entry.
 */
export const attemptLogBytes = (log: AttemptLog | undefined): number => {
  if (log === undefined) return 0
  let bytes = 0
  for (const { error, answer } of log) {
    if (log.length > 1) bytes += 100 + (error?.length ?? 0)
    bytes += answer?.length ?? 0
  }
  return bytes
}

/** The log without the answers of receivers. */
export const withoutAnswers = (log: AttemptLog): AttemptLog =>
  log.some(({ answer }) => answer !== undefined) ? log.map(({ answer: _, ...attempt }) => attempt) : log
