// What a caller may not have meant, although it was carried out. Only what a call armed is looked at: a safe repeat is
// answered `unchanged` or `alreadyFinished`, and its executeAt has passed because that is what repeats are for.
import { formatDuration } from "@punctual/api/DurationMs"

export interface Warned {
  readonly warnings?: ReadonlyArray<string>
}

/** Clocks differ by a little, and a request takes its time: `now` is no executeAt in the past. */
const toleranceMs = 1_000

/** Nothing is said of an update that leaves executeAt as it is. */
export const warningsOf = (executeAt: number | undefined, receivedAt: number): Warned => {
  const pastMs = executeAt === undefined ? 0 : receivedAt - executeAt
  if (pastMs <= toleranceMs) return none
  const past = formatDuration(pastMs - (pastMs % 1_000))
  return { warnings: [`executeAt is ${past} in the past: the timer is due at once`] }
}

const none: Warned = {}
