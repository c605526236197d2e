// How late an attempt is: one rule for what history keeps, for the metric, and for whoever else measures it.
import type { Timer } from "./Timer.ts"

/**
 * From the instant that the attempt was due to its start. A timer that is created, changed or replaced when its executeAt has
 * passed was due then, not before: it is not late by its age. After a retry the instant of a change is no longer known, and
 * lateness counts from the later of executeAt and creation.
 */
export const latenessMs = (
  timer: Pick<Timer, "executeAt" | "createdAt" | "updatedAt" | "attempts">,
  startedAt: number,
): number => {
  const armedAt = timer.attempts === 0 ? timer.updatedAt : timer.createdAt
  return Math.max(0, startedAt - Math.max(timer.executeAt, armedAt))
}
