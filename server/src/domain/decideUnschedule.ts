// Decides about a CancelTimer of the bus. Commands about one timer may arrive in another order than they were sent, so
// a cancel may arrive before the ScheduleTimer that it cancels. Then the history keeps the cancel as a life that was
// cancelled before it began: its fireId is that of the cancel, and its executeAt is the time when the cancel was sent.
// So an older command that arrives later is ignored, as long as the history keeps the cancel. A command with a later
// timestamp creates the timer.
import type { Decision, Known } from "./Decision.ts"
import type { FinishedLife, Timer } from "./Timer.ts"
import type { Schedule, ScheduleAnswer } from "./WriteItem.ts"

/** `cancelledLife` makes the history entry of a timer that is cancelled at an instant. */
export const decideUnschedule = (
  { timer, inFlight }: Schedule,
  { pending, last }: Known,
  cancelledLife: (timer: Timer, at: number) => FinishedLife,
): Decision<ScheduleAnswer> => {
  const cancelled: ScheduleAnswer = { result: "cancelled" }
  // The same item again. A pending timer was created after it.
  if (last?.fireId === timer.fireId || last?.endedBy === timer.fireId) {
    return pending === undefined ? { answer: cancelled } : ignore("finished")
  }
  if (pending === undefined) {
    const isNews = last === undefined || (isCancelInAdvance(last) && last.executeAt < timer.askedAt)
    if (!isNews) return ignore("finished")
    const revision = Math.max(timer.createdAt, (last?.revision ?? 0) + 1)
    const life = cancelledLife({ ...timer, revision, executeAt: timer.askedAt }, timer.createdAt)
    return {
      answer: cancelled,
      finished: { ...life, endedBy: timer.fireId },
      tally: { created: 1, cancelled: 1 },
    }
  }
  if (pending.fireId === inFlight) return ignore("inFlight")
  if (timer.askedAt < (pending.askedAt ?? pending.updatedAt)) return ignore("outdated")
  return {
    answer: cancelled,
    pending: null,
    finished: {
      ...cancelledLife(pending, timer.createdAt),
      revision: pending.revision + 1,
      endedBy: timer.fireId,
    },
    tally: { cancelled: 1 },
  }
}

/** The life consists only of a cancel: the timer was never armed. */
export const isCancelInAdvance = ({ fireId, endedBy }: FinishedLife): boolean => fireId === endedBy

export const ignore = (
  because: Extract<ScheduleAnswer, { result: "ignored" }>["because"],
): Decision<ScheduleAnswer> => ({ answer: { result: "ignored", because } })
