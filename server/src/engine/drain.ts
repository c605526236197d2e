// The stop of an engine: shards go to other nodes if there are any, running attempts may finish, and what they did is
// stored.
import { type Clock, Effect, Fiber } from "effect"
import type { Dispatcher } from "./dispatch/Dispatcher.ts"
import type { Ownership } from "./ownership/Ownership.ts"
import type { WriteQueue } from "./writing/WriteQueue.ts"

/** How long a drain waits until outcomes are stored, and then until shards are released. */
const settleWithinMs = 5_000

/** The state of the engine's stop. */
export interface StopState {
  isDraining: boolean
  /** While a node hands its shards over, it takes writes for each shard until that shard is gone. */
  takesWrites: boolean
}

interface Draining {
  readonly dispatcher: Dispatcher
  readonly ownership: Ownership
  readonly keeping: Fiber.Fiber<unknown>
  readonly state: StopState
}

export const drain = Effect.fnUntraced(function* (
  { clock, queue }: { readonly clock: Clock.Clock; readonly queue: WriteQueue },
  { dispatcher, ownership, keeping, state }: Draining,
  withinMs: number,
) {
  const startedNanos = clock.monotonicTimeNanosUnsafe()
  state.isDraining = true
  if (ownership.hasTakers) yield* ownership.leave(withinMs)
  state.takesWrites = false
  dispatcher.stop()
  const takenMs = Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / 1e6
  // If another node already owns the shard of a running attempt, its outcome cannot be stored here.
  yield* Effect.sleep(20).pipe(
    Effect.repeat({ while: () => dispatcher.inFlight > 0 && ownership.ownedCount > 0 }),
    Effect.timeoutOption(Math.max(0, withinMs - takenMs)),
  )
  yield* Effect.timeoutOption(queue.awaitIdle, settleWithinMs)
  yield* Fiber.interrupt(keeping)
  yield* ownership.releaseAll(settleWithinMs)
})
