// The calls of the contract that turn to dead letters: which ones are meant, and what came of it.
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

export interface ReplayCalls {
  readonly replay: Call<ReplayTimers, ReplayTimersAnswer>
  readonly discard: Call<DiscardTimers, DiscardTimersAnswer>
}

export const makeReplayCalls: Effect.Effect<ReplayCalls, never, Scheduler> = Effect.map(
  Scheduler,
  (scheduler) => ({
    replay: ({ body }) =>
      Effect.matchEffect(scheduler.replay(selectionOf(body)), {
        onFailure: (error) => (body.dryRun === true ? refuseRead(error) : refuseSome(error, "replayed")),
        onSuccess: countsOf,
      }),
    discard: ({ body }) =>
      Effect.matchEffect(scheduler.discard(selectionOf(body)), {
        onFailure: (error) => (body.dryRun === true ? refuseRead(error) : refuseSome(error, "discarded")),
        onSuccess: countsOf,
      }),
  }),
)

const selectionOf = (asked: ReplayTimers | DiscardTimers): DeadSelection => ({
  namespace: asked.namespace,
  isDryRun: asked.dryRun ?? false,
  ...(asked.timerId === undefined ? { filter: filterOf(asked.filter ?? {}) } : { timerId: asked.timerId }),
})

const countsOf = <Counts extends { readonly more: boolean }>(
  counts: Counts | undefined,
): Effect.Effect<Omit<Counts, "more"> & { readonly more?: true }, Problem> => {
  if (counts === undefined) {
    return Effect.fail(
      new TimerNotFound({ detail: "The namespace has no dead letter of a timer with this id." }),
    )
  }
  const { more, ...rest } = counts
  return Effect.succeed(more ? { ...rest, more } : rest)
}
