// Warnings about requests that are valid but may be mistakes. Only calls that armed a timer get warnings: a safe repeat
// is answered `unchanged` or `alreadyFinished`, and its executeAt is often in the past.
import { formatDuration } from "@punctual/api/DurationMs"

export interface Warned {
  readonly warnings?: ReadonlyArray<string>
}

/** Clocks differ a little and a request takes time, so an executeAt of "now" must cause no warning. */
const toleranceMs = 1_000

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/**
 * `executeAt` is `undefined` for an update that does not change it. `absence` says why nobody can receive the timer now. A
 * duration in a warning has at most the two largest units of time.
 */
export const warningsOf = (
  executeAt: number | undefined,
  receivedAt: number,
  absence: string | undefined,
): Warned => {
  const pastMs = executeAt === undefined ? 0 : receivedAt - executeAt
  const isPast = pastMs > toleranceMs
  if (!isPast && absence === undefined) return none
  const unitMs = pastMs >= dayMs ? hourMs : pastMs >= hourMs ? minuteMs : secondMs
  const past = formatDuration(pastMs - (pastMs % unitMs))
  return {
    warnings: [
      ...(isPast ? [`executeAt is ${past} in the past: the timer is due at once`] : []),
      ...(absence === undefined ? [] : [`the timer will wait: ${absence}`]),
    ],
  }
}

const none: Warned = {}
