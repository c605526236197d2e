// What a message does to a service call. Only this function changes the state of a call. It is pure: the caller gives
// the time and the ids, stores the change if the call still has the version that was read, and otherwise reads and
// decides again.
//
// Messages arrive at least once and in any order, so a message that does not fit the state is a repeat or comes too
// late. It is ignored with a reason. A request of a user that does not fit is a conflict, and the user is told.
import { type CallChange, ChangeDraft, withoutCheck } from "./CallChange.ts"
import {
  type CallRecord,
  dueTimerId,
  longestWaitMs,
  scheduledCheckAt,
  sweepGraceMs,
  watchdogMarginMs,
  watchdogTimerId,
} from "./CallRecord.ts"
import { type MessageTerms, startContent } from "./OutboxMessage.ts"
import { type CallState, type ErrorMeta, finalStates, type ResponseMeta } from "./ServiceCall.ts"

export type AttemptOutcome =
  | { readonly kind: "succeeded"; readonly finishedAt: number; readonly response: ResponseMeta }
  | { readonly kind: "failed"; readonly finishedAt: number; readonly error: ErrorMeta }

/** What the store knows about the attempt of a call. Absent if Execution has not seen the attempt yet. */
export type AttemptProgress =
  | { readonly state: "claimed" }
  | { readonly state: "calling"; readonly startedAt: number }
  | { readonly state: "ended"; readonly outcome: AttemptOutcome }

export type CallMessage =
  | { readonly kind: "submit" }
  | { readonly kind: "dueTimeReached"; readonly n: number }
  | { readonly kind: "watchdog"; readonly n: number; readonly attempt?: AttemptProgress }
  | { readonly kind: "executionStarted"; readonly attemptId: string; readonly startedAt: number }
  | { readonly kind: "executionEnded"; readonly attemptId: string; readonly outcome: AttemptOutcome }
  | { readonly kind: "cancel" }
  | { readonly kind: "reschedule"; readonly dueAt: number }
  | { readonly kind: "sweep"; readonly attempt?: AttemptProgress }

export interface TransitionTerms extends MessageTerms {
  /** How long the attempt may take. */
  readonly timeoutMs: number
}

export type CallTransition =
  | { readonly kind: "changed"; readonly change: CallChange; readonly isRescue?: true }
  | { readonly kind: "ignored"; readonly reason: string }
  | { readonly kind: "conflict"; readonly message: string }

export const transition = (
  record: CallRecord,
  message: CallMessage,
  terms: TransitionTerms,
): CallTransition => {
  const { state, dueTimes, attemptId } = record.call
  switch (message.kind) {
    case "submit":
      return state === "Submitted" ? changed(accept(record, terms)) : repeated(state)
    case "dueTimeReached":
      if (message.n !== dueTimes) return ignored("the call has another due time now")
      return state === "Scheduled"
        ? changed(start(draft(record, terms), "DueTimeReached", terms))
        : repeated(state)
    case "watchdog":
      if (state !== "Running") return repeated(state)
      if (message.n !== record.watchdogs) return ignored("the call has another watchdog now")
      return changed(watch(record, message.attempt, terms))
    case "executionStarted":
      if (message.attemptId !== attemptId) return otherAttempt
      if (state !== "Running" || record.call.startedAt !== undefined) return repeated(state)
      return changed(draft(record, terms).note("ExecutionStarted", { startedAt: message.startedAt }))
    case "executionEnded":
      if (message.attemptId !== attemptId) return otherAttempt
      return state === "Running"
        ? changed(end(record, message.outcome, terms))
        : late(record, message.outcome, terms)
    case "cancel":
      return cancel(record, terms)
    case "reschedule":
      return reschedule(record, message.dueAt, terms)
    case "sweep":
      return sweep(record, message.attempt, terms)
  }
}

const draft = (record: CallRecord, terms: TransitionTerms): ChangeDraft => new ChangeDraft(record, terms)

const changed = (changing: ChangeDraft): CallTransition => {
  const { record, ...rest } = changing.change
  const isOver = finalStates.has(record.call.state)
  return { kind: "changed", change: { ...rest, record: isOver ? withoutCheck(record) : record } }
}

const ignored = (reason: string): CallTransition => ({ kind: "ignored", reason })
const repeated = (state: CallState): CallTransition => ignored(`the call is ${state} already`)
const otherAttempt = ignored("the call has no such attempt")
const conflict = (message: string): CallTransition => ({ kind: "conflict", message })

/** Submitted → Scheduled, and further to Running if the call is due. */
const accept = (record: CallRecord, terms: TransitionTerms, what = "SubmitServiceCall"): ChangeDraft => {
  const { nowMs } = terms
  const accepted = draft(record, terms).enter(what, {
    state: "Scheduled",
    dueTimes: record.call.dueTimes + 1,
  })
  if (accepted.call.dueAt <= nowMs) return start(accepted, what, terms)
  return arm(accepted, nowMs)
}

const arm = (scheduled: ChangeDraft, nowMs: number): ChangeDraft =>
  scheduled
    .schedule(dueTimerId(scheduled.call), scheduled.call.dueAt)
    .keep({ checkAt: scheduledCheckAt(scheduled.call, nowMs) })

/** Scheduled → Running, with a new attempt. A repeated message finds the call Running and starts no second one. */
const start = (due: ChangeDraft, what: string, terms: TransitionTerms): ChangeDraft => {
  const { nowMs, timeoutMs, newId } = terms
  due.enter(what, { state: "Running", attemptId: newId(), runningAt: nowMs })
  due.send(startContent(due.call, timeoutMs))
  return armWatchdog(due, nowMs + timeoutMs + watchdogMarginMs)
}

const armWatchdog = (running: ChangeDraft, at: number): ChangeDraft => {
  const watchdogs = running.record.watchdogs + 1
  return running
    .keep({ watchdogs, checkAt: at + sweepGraceMs })
    .schedule(watchdogTimerId(running.call.serviceCallId, watchdogs), at)
}

/**
 * The attempt has had all its time. If its outcome is stored, the message was lost, and the outcome is applied here. If
 * the attempt still waits for its turn, it waits on, and StartExecution is sent again in case it was lost. Otherwise
 * nobody knows what became of it.
 */
const watch = (
  record: CallRecord,
  attempt: AttemptProgress | undefined,
  terms: TransitionTerms,
): ChangeDraft => {
  const { nowMs, timeoutMs } = terms
  const { runningAt = nowMs } = record.call
  if (attempt?.state === "ended") return end(record, attempt.outcome, terms)
  const endsAt = attempt?.state === "calling" ? attempt.startedAt + timeoutMs + watchdogMarginMs : undefined
  if (endsAt !== undefined && nowMs < endsAt) return armWatchdog(draft(record, terms).nextVersion(), endsAt)
  if (endsAt === undefined && nowMs < runningAt + longestWaitMs) {
    const again = draft(record, terms).nextVersion()
    return armWatchdog(again.send(startContent(again.call, timeoutMs)), nowMs + timeoutMs + watchdogMarginMs)
  }
  const message =
    endsAt === undefined
      ? "The call did not start in time."
      : "The call was started, but its outcome did not arrive: the service may have done the work or not."
  const error: ErrorMeta = { kind: "outcomeUnknown", message }
  return end(record, { kind: "failed", finishedAt: nowMs, error }, terms, "Watchdog")
}

/** Running → Succeeded or Failed. */
const end = (
  record: CallRecord,
  outcome: AttemptOutcome,
  terms: TransitionTerms,
  what = outcome.kind === "succeeded" ? "ExecutionSucceeded" : "ExecutionFailed",
): ChangeDraft => {
  const { finishedAt } = outcome
  const result =
    outcome.kind === "succeeded"
      ? { state: "Succeeded" as const, finishedAt, response: outcome.response }
      : { state: "Failed" as const, finishedAt, error: outcome.error }
  return draft(record, terms)
    .enter(what, result)
    .unschedule(watchdogTimerId(record.call.serviceCallId, record.watchdogs))
}

/** The watchdog has ended the call, and now its outcome arrives. The state stays; the timeline says what came. */
const late = (record: CallRecord, outcome: AttemptOutcome, terms: TransitionTerms): CallTransition => {
  const { state, error } = record.call
  const isAwaited = state === "Failed" && error?.kind === "outcomeUnknown" && !record.hasLateOutcome
  const isNews = outcome.kind === "succeeded" || outcome.error.kind !== "outcomeUnknown"
  if (!isAwaited || !isNews) return repeated(state)
  const detail =
    outcome.kind === "succeeded"
      ? `succeeded, status ${outcome.response.status}`
      : `failed, ${outcome.error.kind}`
  return changed(draft(record, terms).note("LateOutcome", {}, detail).keep({ hasLateOutcome: true }))
}

const cancel = (record: CallRecord, terms: TransitionTerms): CallTransition => {
  const { state } = record.call
  if (state === "Cancelled") return repeated(state)
  if (state !== "Submitted" && state !== "Scheduled") {
    return conflict(`The call is ${state}. Only a call that is Submitted or Scheduled can be cancelled.`)
  }
  const cancelled = draft(record, terms).enter("Cancelled", { state: "Cancelled", finishedAt: terms.nowMs })
  return changed(state === "Scheduled" ? cancelled.unschedule(dueTimerId(record.call)) : cancelled)
}

const reschedule = (record: CallRecord, dueAt: number, terms: TransitionTerms): CallTransition => {
  const { state, dueTimes } = record.call
  if (state === "Submitted") return conflict("The call is not scheduled yet. Try again in a moment.")
  if (state !== "Scheduled")
    return conflict(`The call is ${state}. Only a Scheduled call can get another due time.`)
  if (dueTimes >= mostDueTimes)
    return conflict(`The call has had ${mostDueTimes} due times, which is the limit.`)
  const moved = draft(record, terms)
    .unschedule(dueTimerId(record.call))
    .enter("Rescheduled", { dueAt, dueTimes: dueTimes + 1 })
  return changed(dueAt <= terms.nowMs ? start(moved, "Rescheduled", terms) : arm(moved, terms.nowMs))
}

/** Every due time adds to the timeline, so their number is bounded. */
const mostDueTimes = 100

/** Does the work of a message that seems to be lost. */
const sweep = (
  record: CallRecord,
  attempt: AttemptProgress | undefined,
  terms: TransitionTerms,
): CallTransition => {
  const { state, dueAt } = record.call
  const { nowMs } = terms
  if (record.checkAt === undefined) return repeated(state)
  if (nowMs < record.checkAt) return ignored("it is too early to look at the call")
  if (state === "Submitted") return rescued(changed(accept(record, terms, "Rescued")))
  if (state === "Running") return rescued(changed(watch(record, attempt, terms)))
  if (dueAt + sweepGraceMs <= nowMs) return rescued(changed(start(draft(record, terms), "Rescued", terms)))
  return changed(arm(draft(record, terms).nextVersion(), nowMs))
}

const rescued = (decision: CallTransition): CallTransition =>
  decision.kind === "changed" ? { ...decision, isRescue: true } : decision
