// Time within pauses does not count against timers: whatever bounds how long a timer may take asks here how much of
// that time it was kept from firing.
import type { NamespaceSettings, PastPause, ServiceSettings } from "./NamespaceSettings.ts"
import type { Timer } from "./Timer.ts"

/**
 * When nothing of a namespace was fired, by its own pauses and by those of the whole service: apart from each other
 * and in order. A pause that goes on has no end.
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

/** How much of the time from one instant to another lay within pauses that are apart from each other. */
export const pausedMs = (pauses: ReadonlyArray<PastPause>, fromMs: number, untilMs: number): number => {
  let total = 0
  for (const pause of pauses) {
    total += Math.max(0, Math.min(pause.untilMs, untilMs) - Math.max(pause.fromMs, fromMs))
  }
  return total
}

/** Whether more time has passed since its executeAt than its first attempt may wait. */
export const hasExpired = (
  { executeAt, attempts, spec: { expireAfterMs } }: Timer,
  nowMs: number,
  pauses: ReadonlyArray<PastPause>,
): boolean =>
  expireAfterMs !== undefined &&
  attempts === 0 &&
  nowMs - executeAt - pausedMs(pauses, executeAt, nowMs) > expireAfterMs
