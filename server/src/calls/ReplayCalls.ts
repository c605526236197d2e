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
import { filterOf } from "../engine/front/filterOf.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import type { Asked, Call } from "./Call.ts"
import { refuseRead, refuseSome } from "./problemOf.ts"
import { selectionDetails } from "./selectionDetails.ts"
import { type Progress, type ShownProgress, shownProgress } from "./shownProgress.ts"

export interface ReplayCalls {
  readonly replay: Call<ReplayTimers, ReplayTimersAnswer>
  readonly discard: Call<DiscardTimers, DiscardTimersAnswer>
}

export const makeReplayCalls: Effect.Effect<ReplayCalls, never, Scheduler> = Effect.map(
  Scheduler,
  (scheduler) => ({
    replay: (asked) =>
      Effect.matchEffect(scheduler.replay(selected(asked)), {
        onFailure: (error) => refusal(asked, error, "replayed"),
        onSuccess: (counts) => countsOf(asked, counts, counts?.replayed),
      }),
    discard: (asked) =>
      Effect.matchEffect(scheduler.discard(selected(asked)), {
        onFailure: (error) => refusal(asked, error, "discarded"),
        onSuccess: (counts) => countsOf(asked, counts, counts?.discarded),
      }),
  }),
)

type AskedDead = Asked<ReplayTimers | DiscardTimers>

const selected = ({ body, receivedAt: now, note }: AskedDead): DeadSelection => {
  const { namespace, dryRun: isDryRun = false, timerId, filter = {}, cursor } = body
  if (!isDryRun) note?.({ about: selectionDetails(body) })
  if (timerId !== undefined) return { namespace, isDryRun, timerId }
  return {
    namespace,
    isDryRun,
    filter: filterOf(filter, now),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

/** `done`: how many dead letters the call has changed. */
const countsOf = <Counts extends Progress>(
  { body, note }: AskedDead,
  counts: Counts | undefined,
  done = 0,
): Effect.Effect<ShownProgress<Counts>, Problem> => {
  if (counts === undefined) {
    return Effect.fail(new TimerNotFound({ detail: "The namespace has no dead letter with this timer id." }))
  }
  if (body.dryRun !== true) note?.({ count: done })
  return Effect.succeed(shownProgress(counts))
}

const refusal = (
  { body }: AskedDead,
  error: Parameters<typeof refuseSome>[0],
  deed: "replayed" | "discarded",
): Effect.Effect<never, Problem> => (body.dryRun === true ? refuseRead(error) : refuseSome(error, deed))
