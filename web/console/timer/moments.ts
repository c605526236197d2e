/** The moments of a life, in order. All durations come from stored instants, never from each other. */
import type { Timer } from "../api.ts"
import { isReplayed } from "../isReplayed.ts"

export type Attempt = NonNullable<Timer["attemptLog"]>[number]

/** The error says no more than the status does. */
export const isOnlyStatus = ({ error, status }: Attempt): boolean =>
  status !== undefined && (error === undefined || error === `answered ${status}`)

export interface LifeMoment {
  readonly kind: "created" | "due" | "replayed" | "attempt" | "running" | "next" | "end"
  readonly atMs: number
  readonly attempt?: Attempt
  /** Which attempt of the arming it is, from 1. */
  readonly number?: number
}

export const momentsOf = (timer: Timer): ReadonlyArray<LifeMoment> => {
  const at = (text: string) => Date.parse(text)
  const log = timer.attemptLog ?? (timer.lastAttempt === undefined ? [] : [timer.lastAttempt])
  const finished =
    timer.finishedAt === undefined ? timer.attempts - (timer.state === "inFlight" ? 1 : 0) : timer.attempts
  const firstNumber = Math.max(1, finished - log.length + 1)
  const moments: Array<LifeMoment> = [
    { kind: "created", atMs: at(timer.createdAt) },
    { kind: isReplayed(timer) ? "replayed" : "due", atMs: at(timer.executeAt) },
    ...log.map((attempt, index) => ({
      kind: "attempt" as const,
      atMs: at(attempt.at),
      attempt,
      number: firstNumber + index,
    })),
  ]
  if (timer.state === "inFlight" && timer.attemptStartedAt !== undefined) {
    moments.push({ kind: "running", atMs: at(timer.attemptStartedAt), number: timer.attempts + 1 })
  }
  if (timer.state === "pending" && timer.attempts > 0 && timer.fireAt !== undefined) {
    moments.push({ kind: "next", atMs: at(timer.fireAt), number: timer.attempts + 1 })
  }
  if (timer.finishedAt !== undefined) moments.push({ kind: "end", atMs: at(timer.finishedAt) })
  return moments.sort((a, b) => a.atMs - b.atMs || order.indexOf(a.kind) - order.indexOf(b.kind))
}

const order: ReadonlyArray<LifeMoment["kind"]> = [
  "created",
  "due",
  "replayed",
  "attempt",
  "running",
  "next",
  "end",
]

/**
 * Places for the moments from 0 to 1, in their order. A life can wait for months and then fail within milliseconds, so
 * the length of a gap grows with the logarithm of its time.
 */
export const placesOf = (atMs: ReadonlyArray<number>): ReadonlyArray<number> => {
  const gaps = atMs
    .slice(1)
    .map((at, index) => Math.log10(1 + Math.max(0, at - (atMs[index] ?? at)) / 50) + 0.15)
  const total = gaps.reduce((sum, gap) => sum + gap, 0)
  let place = 0
  return [0, ...gaps.map((gap) => (place += gap / total))]
}
