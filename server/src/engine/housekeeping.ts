// What a node does beside firing: it removes history past its retention, and looks again at rows that were set aside.
import { Effect } from "effect"
import type { TimerStore } from "../ports/TimerStore.ts"
import type { WallClock } from "../ports/WallClock.ts"

const pruneEveryMs = 60_000
/** Between batches, so that commits have their turn. */
const prunePauseMs = 20
const pruneBatch = 500
/** One round removes at most this many batches, a million lives. The next round goes on. */
const prunesAtOnce = 2_000

/** Removes history past its retention, and answers how much: in small batches, so that no commit waits long for it. */
export const pruneBatchOf = (
  store: Pick<TimerStore["Service"], "prune">,
  wall: WallClock["Service"],
  retentionMs: number,
): Effect.Effect<number> =>
  Effect.suspend(() => store.prune(wall.now() - retentionMs, pruneBatch)).pipe(
    Effect.catch((error) => Effect.as(Effect.logWarning(`history was not pruned: ${error.message}`), 0)),
  )

/** Batch after batch, until there is no more, or as many as one round takes. */
export const pruneAll = (prune: Effect.Effect<number>): Effect.Effect<number> =>
  Effect.repeat(prune, { while: (removed) => removed === pruneBatch, times: prunesAtOnce })

/** For ever: prunes history, and between the rounds looks again at rows that were set aside. */
export const keepHouse = (
  prune: Effect.Effect<number>,
  lookAgain: Effect.Effect<void>,
): Effect.Effect<never> =>
  Effect.gen(function* () {
    for (;;) {
      const removed = yield* prune
      if (removed < pruneBatch) yield* lookAgain
      yield* Effect.sleep(removed < pruneBatch ? pruneEveryMs : prunePauseMs)
    }
  })
