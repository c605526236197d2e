// Loops that must not end, and what they start and rely on to come to its end: one that breaks would leave timers
// unfired, or writes on their way for ever, while everything else looks well. A defect in it is therefore fatal, like a
// store that failed: the process ends, and a restart recovers.
import { Cause, Effect } from "effect"
import type { LoopName } from "./EngineMetrics.ts"

export type Guard = <A>(loop: LoopName, effect: Effect.Effect<A>) => Effect.Effect<A>

export const makeGuard =
  (onBroken: (message: string) => void): Guard =>
  (loop, effect) =>
    Effect.onError(effect, (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.void
        : Effect.logError(`the ${loop} loop broke`, cause).pipe(
            Effect.andThen(Effect.sync(() => onBroken(`the ${loop} loop broke: ${Cause.squash(cause)}`))),
          ),
    )
