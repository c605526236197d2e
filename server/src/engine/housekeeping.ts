// The background work of a node: it removes history past its retention, and checks rows again that were set aside.
import { Effect } from "effect"
import type { TimerStore } from "../ports/TimerStore.ts"
import type { WallClock } from "../ports/WallClock.ts"

const pruneEveryMs = 60_000
/** The pause between batches, so that other commits get their turn. */
const prunePauseMs = 20
const pruneBatch = 500
/** One round removes at most this many batches, a million lives. The next round continues. */
const prunesAtOnce = 2_000

/**
 * Removes one batch of history past its retention, and returns the number of removed lives. Batches are small, so that
 * no commit waits long.
 */
export const pruneBatchOf = (
  store: Pick<TimerStore["Service"], "prune">,
  wall: WallClock["Service"],
  retentionMs: number,
): Effect.Effect<number> =>
  Effect.suspend(() => store.prune(wall.now() - retentionMs, pruneBatch)).pipe(
    Effect.catch((error) => Effect.as(Effect.logWarning(`history was not pruned: ${error.message}`), 0)),
  )

/** Runs batch after batch, until nothing is left or the round has reached its limit. */
export const pruneAll = (prune: Effect.Effect<number>): Effect.Effect<number> =>
  Effect.repeat(prune, { while: (removed) => removed === pruneBatch, times: prunesAtOnce })

/** Never ends. Prunes history, and between the rounds checks rows again that were set aside. */
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
