// How late an attempt is: one rule for the history, the metric and all other uses.
import type { Timer } from "./Timer.ts"

/**
 * The time from when the attempt was due to the moment when its request was sent. A timer that was created, changed or replaced after its
 * executeAt was due at that moment and not earlier. After a retry the time of a change is no longer known, and lateness
 * counts from the later of executeAt and creation.
 */
export const latenessMs = (
  timer: Pick<Timer, "executeAt" | "createdAt" | "updatedAt" | "attempts">,
  sentAt: number,
): number => {
  const armedAt = timer.attempts === 0 ? timer.updatedAt : timer.createdAt
  return Math.max(0, sentAt - Math.max(timer.executeAt, armedAt))
}
