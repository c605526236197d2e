// Guards loops that must not end, and the work that they start and rely on. If one of them breaks, timers would not
// fire, or writes would hang, while everything else looks healthy. So a defect is fatal, like a failed store: the
// process ends, and a restart recovers.
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
