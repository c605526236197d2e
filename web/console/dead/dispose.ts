/** Replays or discards one dead letter. */
import type { DiscardTimersAnswer, ReplayTimersAnswer } from "@punctual/api/ReplayTimers"
import { reasonGiven } from "../../kit/ReasonField.tsx"
import { ApiProblem, call } from "../../kit/serviceCall.ts"
import type { Timer } from "../api.ts"
import type { SearchRequest } from "../timers/search.ts"

/** `skipped`: a timer with its id is pending, so the dead letter stays. `gone`: somebody else was faster. */
export type Disposed = "done" | "skipped" | "gone"

export type DisposeDeed = "replay" | "discard"

type Answer = Partial<typeof ReplayTimersAnswer.Encoded & typeof DiscardTimersAnswer.Encoded>

export const dispose = async (
  deed: DisposeDeed,
  timer: Timer,
  listed: ReadonlyArray<Timer>,
  request: SearchRequest,
  reason: string,
): Promise<Disposed> => {
  try {
    const answer = await call<Answer>(`timers/${deed}`, {
      namespace: timer.namespace,
      ...selectionOf(timer, listed, request),
      ...reasonGiven("reason", reason),
    })
    if ((answer.replayed ?? 0) + (answer.discarded ?? 0) > 0) return "done"
    return (answer.skipped ?? 0) > 0 ? "skipped" : "gone"
  } catch (error) {
    if (error instanceof ApiProblem && error.code === "timerNotFound") return "gone"
    throw error
  }
}

/**
 * A key can have several dead letters, and its id selects the latest, or all of them. So the reader's row is selected by
 * id and instant of its death, within the filter of the list. If other rows of the list would match too, the id must do.
 */
const selectionOf = (
  timer: Timer,
  listed: ReadonlyArray<Timer>,
  { namespaces: _, states: __, ...filter }: SearchRequest,
): object => {
  const { namespace, timerId, finishedAt } = timer
  if (finishedAt === undefined) return { timerId }
  const matching = listed.filter(
    (other) =>
      other.namespace === namespace && other.timerId.startsWith(timerId) && other.finishedAt === finishedAt,
  )
  if (matching.length !== 1) return { timerId }
  const until = new Date(Date.parse(finishedAt) + 1).toISOString()
  return { filter: { ...filter, idPrefix: timerId, from: finishedAt, until } }
}
