// Loops that must not end: one that breaks would leave timers unfired while everything else looks well. A
// defect in it is therefore fatal, like a store that failed: the process ends, and a restart recovers.
import { Cause, Effect } from "effect"
import type { LoopName } from "./EngineMetrics.ts"

export type Guard = (loop: LoopName, effect: Effect.Effect<never>) => Effect.Effect<never>

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
