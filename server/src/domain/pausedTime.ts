// The time of pauses does not count against expireAfter and maxDuration. This file calculates how much of a time was
// paused.
import type { NamespaceSettings, PastPause, ServiceSettings } from "./NamespaceSettings.ts"
import type { Timer } from "./Timer.ts"

/**
 * The pauses of a namespace and of the whole service, merged so that they do not overlap, in order. A current pause has
 * no end.
 */
export const pausesOf = (
  namespace: Pick<NamespaceSettings, "pausedSinceMs" | "pastPauses">,
  service: ServiceSettings,
): ReadonlyArray<PastPause> => {
  const all = [
    ...(namespace.pastPauses ?? []),
    ...(service.pastPauses ?? []),
    ...[namespace.pausedSinceMs, service.pause?.sinceMs].flatMap((fromMs) =>
      fromMs === undefined ? [] : [{ fromMs, untilMs: Number.POSITIVE_INFINITY }],
    ),
  ].sort((a, b) => a.fromMs - b.fromMs)
  const apart: Array<PastPause> = []
  for (const pause of all) {
    const last = apart.at(-1)
    if (last === undefined || pause.fromMs > last.untilMs) apart.push(pause)
    else if (pause.untilMs > last.untilMs) {
      apart[apart.length - 1] = { fromMs: last.fromMs, untilMs: pause.untilMs }
    }
  }
  return apart
}

/** How much of the time between two instants was paused. The pauses must not overlap. */
export const pausedMs = (pauses: ReadonlyArray<PastPause>, fromMs: number, untilMs: number): number => {
  let total = 0
  for (const pause of pauses) {
    total += Math.max(0, Math.min(pause.untilMs, untilMs) - Math.max(pause.fromMs, fromMs))
  }
  return total
}

/** Whether expireAfter has passed since executeAt before the first attempt. */
export const hasExpired = (
  { executeAt, attempts, spec: { expireAfterMs } }: Timer,
  nowMs: number,
  pauses: ReadonlyArray<PastPause>,
): boolean =>
  expireAfterMs !== undefined &&
  attempts === 0 &&
  nowMs - executeAt - pausedMs(pauses, executeAt, nowMs) > expireAfterMs
