// A service call as the agent stores it: what users see, and what only Orchestration needs. This file also says when the
// sweep looks at a call, and how the timers of a call are named.
import type { ServiceCall } from "./ServiceCall.ts"

export interface CallRecord {
  readonly call: ServiceCall
  /** The SHA-256 of the request as the user sent it, in hex. A repeated submission must have the same. */
  readonly requestHash: string
  /** How often a watchdog was armed: the n of its timer's id, `<serviceCallId>~w<n>`. */
  readonly watchdogs: number
  /** When the sweep looks at the call. Absent if the call has ended. */
  readonly checkAt?: number
  /** The last change that users can see. */
  readonly updatedAt: number
  /** An outcome arrived after the call had ended with an unknown outcome. Only the first one is noted. */
  readonly hasLateOutcome: boolean
}

/** How late a call may be before the sweep does the work of a lost message. */
export const sweepGraceMs = 10_000
/** The watchdog ends an attempt this long after its time-out, so that a late outcome can still arrive. */
export const watchdogMarginMs = 30_000
/** How long an attempt may wait for its turn. */
export const longestWaitMs = 60 * 60 * 1_000

const shortestRepeatMs = 60_000
const longestRepeatMs = 60 * 60 * 1_000

/**
 * The next look of the sweep at a call that waits for its timer. The sweep sends ScheduleTimer again, in case a broker
 * lost it: after a minute, and then after ever longer times up to an hour. The sweep starts an overdue call itself, so
 * a lost message costs at most `sweepGraceMs`.
 */
export const scheduledCheckAt = ({ dueAt, submittedAt }: ServiceCall, nowMs: number): number =>
  Math.min(
    dueAt + sweepGraceMs,
    nowMs + Math.min(longestRepeatMs, Math.max(shortestRepeatMs, nowMs - submittedAt)),
  )

export const dueTimerId = ({ serviceCallId, dueTimes }: ServiceCall): string =>
  `${serviceCallId}~d${dueTimes}`

export const watchdogTimerId = (serviceCallId: string, n: number): string => `${serviceCallId}~w${n}`

export interface CallTimerName {
  readonly serviceCallId: string
  readonly kind: "due" | "watchdog"
  readonly n: number
}

/** What the id of a timer means. `undefined` if the timer is not one of the agent's. */
export const timerNameOf = (timerId: string): CallTimerName | undefined => {
  const [, serviceCallId, letter, digits] = /^([^~]+)~([dw])(\d{1,9})$/s.exec(timerId) ?? []
  if (serviceCallId === undefined) return undefined
  return { serviceCallId, kind: letter === "d" ? "due" : "watchdog", n: Number(digits) }
}
