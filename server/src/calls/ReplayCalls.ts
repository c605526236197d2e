// The calls of the contract on dead letters: replay and discard.
import { type Problem, TimerNotFound } from "@punctual/api/Problem"
import type {
  DiscardTimers,
  DiscardTimersAnswer,
  ReplayTimers,
  ReplayTimersAnswer,
} from "@punctual/api/ReplayTimers"
import { Effect } from "effect"
import type { DeadSelection } from "../engine/front/DeadLetters.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import type { Call } from "./Call.ts"
import { filterOf } from "./filterOf.ts"
import { refuseRead, refuseSome } from "./problemOf.ts"
import { type Progress, type ShownProgress, shownProgress } from "./shownProgress.ts"

export interface ReplayCalls {
  readonly replay: Call<ReplayTimers, ReplayTimersAnswer>
  readonly discard: Call<DiscardTimers, DiscardTimersAnswer>
}

export const makeReplayCalls: Effect.Effect<ReplayCalls, never, Scheduler> = Effect.map(
  Scheduler,
  (scheduler) => ({
    replay: ({ body, receivedAt }) =>
      Effect.matchEffect(scheduler.replay(selectionOf(body, receivedAt)), {
        onFailure: (error) => (body.dryRun === true ? refuseRead(error) : refuseSome(error, "replayed")),
        onSuccess: countsOf,
      }),
    discard: ({ body, receivedAt }) =>
      Effect.matchEffect(scheduler.discard(selectionOf(body, receivedAt)), {
        onFailure: (error) => (body.dryRun === true ? refuseRead(error) : refuseSome(error, "discarded")),
        onSuccess: countsOf,
      }),
  }),
)

const selectionOf = (asked: ReplayTimers | DiscardTimers, now: number): DeadSelection => {
  const { namespace, dryRun: isDryRun = false, timerId, filter = {}, cursor } = asked
  if (timerId !== undefined) return { namespace, isDryRun, timerId }
  return {
    namespace,
    isDryRun,
    filter: filterOf(filter, now),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

const countsOf = <Counts extends Progress>(
  counts: Counts | undefined,
): Effect.Effect<ShownProgress<Counts>, Problem> =>
  counts === undefined
    ? Effect.fail(new TimerNotFound({ detail: "The namespace has no dead letter with this timer id." }))
    : Effect.succeed(shownProgress(counts))
