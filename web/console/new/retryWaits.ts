/** The waits between attempts that a retry policy leads to, for a preview. */
import { parseDuration } from "@punctual/api/parseDuration"
import { durationText } from "../../kit/times.ts"
import { type RetryDraft, waitWords } from "./TimerDraft.ts"

/** The policy of a timer that names none, unless its namespace has one. A test compares it with the contract. */
export const usualPolicy = {
  maxAttempts: 10,
  initialIntervalMs: 5_000,
  backoffMultiplier: 4,
  maxIntervalMs: 8 * 3_600_000,
  jitter: 0.2,
} as const

export interface RetryPlan {
  /** The longest wait after each failed attempt. The last attempt has none. */
  readonly waitsMs: ReadonlyArray<number>
  /** The random part of each wait, by which it can be shorter. */
  readonly jitter: number
  /** The limit of the time in which attempts start has cut the plan. */
  readonly isCut: boolean
}

/** More waits would not fit the preview, and a wrong number must not cost memory. */
const attemptsMax = 1_000

/** `usual` is the policy of the namespace, if it has one. `undefined` if a field is wrong. */
export const planOf = (retry: RetryDraft, usual?: RetryDraft): RetryPlan | undefined => {
  if (retry.form === "default" && usual !== undefined) return planOf(usual)
  const duration = (text: string, usual: number | undefined) =>
    text.trim() === "" ? usual : (parseDuration(text.trim()) ?? Number.NaN)
  const number = (text: string, usual: number) => (text.trim() === "" ? usual : Number(text))
  const maxDurationMs = duration(retry.maxDuration, Number.POSITIVE_INFINITY) ?? Number.NaN
  if (retry.form === "waits") {
    const waits = waitWords(retry.waits).map((word) => parseDuration(word) ?? Number.NaN)
    return cut(waits, 0, maxDurationMs)
  }
  const isUsual = retry.form === "default"
  const initial = isUsual ? undefined : duration(retry.initialInterval, undefined)
  const maxIntervalMs = isUsual
    ? usualPolicy.maxIntervalMs
    : (duration(retry.maxInterval, undefined) ?? Math.max(usualPolicy.maxIntervalMs, initial ?? 0))
  const initialMs = initial ?? Math.min(usualPolicy.initialIntervalMs, maxIntervalMs)
  const attempts = isUsual ? usualPolicy.maxAttempts : number(retry.maxAttempts, usualPolicy.maxAttempts)
  const multiplier = isUsual
    ? usualPolicy.backoffMultiplier
    : number(retry.backoffMultiplier, usualPolicy.backoffMultiplier)
  const jitter = isUsual ? usualPolicy.jitter : number(retry.jitter, usualPolicy.jitter)
  if (!(attempts >= 1) || !(attempts <= attemptsMax) || Number.isNaN(jitter)) return undefined
  const waits = Array.from({ length: attempts - 1 }, (_, index) =>
    Math.min(maxIntervalMs, initialMs * multiplier ** index),
  )
  return cut(waits, jitter, isUsual ? Number.POSITIVE_INFINITY : maxDurationMs)
}

const cut = (waits: ReadonlyArray<number>, jitter: number, maxMs: number): RetryPlan | undefined => {
  if (waits.some(Number.isNaN) || Number.isNaN(maxMs)) return undefined
  let sum = 0
  const fitting = waits.filter((wait) => {
    sum += wait
    return sum <= maxMs
  })
  return { waitsMs: fitting, jitter, isCut: fitting.length < waits.length }
}

const shownMax = 8

/** `10 attempts. Waits: 5 s, 20 s, …` */
export const planText = ({ waitsMs, jitter, isCut }: RetryPlan): string => {
  const attempts = waitsMs.length + 1
  if (attempts === 1) return "1 attempt, no retry."
  const shown = waitsMs.slice(0, shownMax).map(durationText)
  const rest = waitsMs.length > shownMax ? " and so on" : ""
  const total = waitsMs.reduce((sum, wait) => sum + wait, 0)
  const shorter = jitter > 0 ? ` Each wait is up to ${Math.round(jitter * 100)} % shorter.` : ""
  const ended = isCut ? " The longest duration ends the retries early." : ""
  return `${isCut ? "At least " : ""}${attempts} attempts. Waits: ${shown.join(", ")}${rest}. The last attempt starts about ${durationText(total)} after the first.${shorter}${ended}`
}
