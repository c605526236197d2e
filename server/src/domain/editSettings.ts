// Changes some settings: an absent field stays as it is, null sets it back to its default. If nothing changes, the
// result is the same object, so that the caller need not store it.
import {
  type NamespaceSettings,
  type SealedSecret,
  type ServiceSettings,
  withPause,
} from "./NamespaceSettings.ts"
import type { OnDead, RetryPolicy } from "./Timer.ts"

export interface SettingsEdit {
  readonly webhookSecrets?: ReadonlyArray<SealedSecret> | null
  readonly retryPolicy?: RetryPolicy | null
  readonly onDead?: OnDead | null
  readonly maxInFlight?: number | null
  readonly maxPending?: number | null
  readonly createsPerSecond?: number | null
  readonly paused?: boolean | null
  /** Only if `paused` is true. */
  readonly pauseReason?: string
}

export const editSettings = (
  settings: NamespaceSettings,
  { paused, ...plain }: SettingsEdit,
  nowMs: number,
): NamespaceSettings => {
  const values = Object.entries(plain).filter(([, value]) => value !== undefined)
  const shifted = paused === undefined ? settings : withPaused(settings, paused === true, nowMs)
  if (values.length === 0) return shifted
  const edited: Record<string, unknown> = { ...shifted }
  for (const [name, value] of values) {
    if (value === null) delete edited[name]
    else edited[name] = value
  }
  // Each value is stored under its own name, so the type is right.
  return edited as NamespaceSettings
}

/** Pausing again keeps the beginning of the first pause, and its reason unless another is given. */
const withPaused = (settings: NamespaceSettings, isPaused: boolean, nowMs: number): NamespaceSettings => {
  const { pausedSinceMs, pauseReason: _, ...rest } = settings
  if (isPaused) return pausedSinceMs === undefined ? { ...settings, pausedSinceMs: nowMs } : settings
  if (pausedSinceMs === undefined) return settings
  return { ...rest, pastPauses: withPause(rest.pastPauses, pausedSinceMs, nowMs) }
}

/** A pause from a restore stays of the kind "restored", even if an operator pauses again. */
export const pauseService = (
  settings: ServiceSettings,
  reason: string | undefined,
  nowMs: number,
): ServiceSettings => {
  const { pause } = settings
  if (pause !== undefined && (reason === undefined || reason === pause.reason)) return settings
  const given = reason === undefined ? {} : { reason }
  return { ...settings, pause: { ...(pause ?? { sinceMs: nowMs, kind: "asked" }), ...given } }
}

export const resumeService = (settings: ServiceSettings, nowMs: number): ServiceSettings => {
  const { pause, ...rest } = settings
  if (pause === undefined) return settings
  return { ...rest, pastPauses: withPause(rest.pastPauses, pause.sinceMs, nowMs) }
}
