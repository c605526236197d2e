// Recognises lives that a replay armed, for programs that show what became of replayed timers.

export interface LifeTimes {
  readonly createdAtMs: number
  readonly executeAtMs: number
  readonly revision: number
}

/**
 * Whether a replay armed this life. Its dead letter is gone, so no earlier life says it, but its numbers do. A replay takes
 * its own time as the due time, and a revision that is at least this time (docs/adr/0033). Any other arming begins with
 * the creation time as its revision and counts up from there, so its revision is lower than a later due time.
 */
export const isReplayedLife = ({ createdAtMs, executeAtMs, revision }: LifeTimes): boolean =>
  createdAtMs < executeAtMs && executeAtMs <= revision
