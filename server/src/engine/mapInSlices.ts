// Works on many items without holding the engine's thread for long. Timers fire on the same thread, so work on a
// thousand items of one request must let other work run in between.

import { nextTurn } from "@punctual/api/nextTurn"
import { Effect } from "effect"

/** How long the thread may work before others have a turn. */
const sliceMs = 2
/** The clock is read once for this many items, because reading it costs about as much as a small item. */
const itemsPerLook = 8

export interface SliceOptions {
  readonly nowMs?: (() => number) | undefined
  /** Ends a slice. Resolves when other work of the thread had its turn. By default the work waits among that of callers. */
  readonly pause?: (() => Promise<void>) | undefined
}

/** Applies `work` to each item, in order, and yields to other work after each slice of time. */
export const mapInSlices = <A, B>(
  items: ReadonlyArray<A>,
  work: (item: A, index: number) => B,
  { nowMs = () => performance.now(), pause = nextTurn }: SliceOptions = {},
): Effect.Effect<Array<B>> =>
  Effect.gen(function* () {
    const done: Array<B> = []
    let endsAt = nowMs() + sliceMs
    for (const [index, item] of items.entries()) {
      if (index % itemsPerLook === 0 && index > 0 && nowMs() >= endsAt) {
        yield* Effect.promise(pause)
        endsAt = nowMs() + sliceMs
      }
      done.push(work(item, index))
    }
    return done
  })
