// The calls of the contract that turn to dead letters: which ones are meant, and what came of it as text.
import { type Problem, TimerNotFound } from "@punctual/api/Problem"
import type { DiscardTimers, ReplayTimers } from "@punctual/api/ReplayTimers"
import { Effect } from "effect"
import type { DeadSelection, Discarded, Replayed } from "../engine/front/DeadLetters.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import type { ApiHandler } from "./ApiCall.ts"
import { refuseSome } from "./refusal.ts"
import { filterOf } from "./TimerHandlers.ts"

/** By the names that the contract gives its endpoints. */
export interface DeadLetterHandlers {
  readonly replay: ApiHandler<ReplayTimers>
  readonly discard: ApiHandler<DiscardTimers>
}

export const makeDeadLetterHandlers: Effect.Effect<DeadLetterHandlers, never, Scheduler> = Effect.map(
  Scheduler,
  (scheduler) => ({
    replay: ({ body }) =>
      Effect.matchEffect(scheduler.replay(selectionOf(body)), {
        onFailure: (error) => refuseSome(error, "replayed"),
        onSuccess: answer,
      }),
    discard: ({ body }) =>
      Effect.matchEffect(scheduler.discard(selectionOf(body)), {
        onFailure: (error) => refuseSome(error, "discarded"),
        onSuccess: answer,
      }),
  }),
)

const selectionOf = (asked: ReplayTimers | DiscardTimers): DeadSelection => ({
  namespace: asked.namespace,
  isDryRun: asked.dryRun ?? false,
  ...(asked.timerId === undefined ? { filter: filterOf(asked.filter ?? {}) } : { timerId: asked.timerId }),
})

const answer = (counts: Replayed | Discarded | undefined): Effect.Effect<string, Problem> => {
  if (counts === undefined) {
    return Effect.fail(
      new TimerNotFound({ detail: "The namespace has no dead letter of a timer with this id." }),
    )
  }
  const { more, ...rest } = counts
  return Effect.succeed(JSON.stringify(more ? { ...rest, more } : rest))
}
