// Brings an owned shard to rest before another node gets it, so that a planned move loses nothing and repeats little.
// First no attempt starts any more, and running attempts may end and be settled; the shard still takes writes. Then the
// queue closes, and its contents are written. The next owner repeats the attempts that are not done within the bounds,
// with the same fireId, because a node that must stop cannot wait for one slow endpoint.
import { Effect } from "effect"
import type { ShardLoop } from "../window/ShardLoop.ts"
import type { WriteQueue } from "../writing/WriteQueue.ts"

/** The longest time that a shard's due timers wait for running attempts. */
const settleWithinMs = 2_000
/** If the store does not answer, the shard must still go to its next owner, whose connection may work. */
const flushWithinMs = 2_000
const lookEveryMs = 5

export const comeToRest = (loop: ShardLoop, queue: WriteQueue): Effect.Effect<void> =>
  Effect.gen(function* () {
    loop.pause()
    yield* until(() => loop.window.unsettled === 0, settleWithinMs)
    queue.stopTaking(loop)
    yield* until(() => queue.isFlushed(loop), flushWithinMs)
  })

const until = (isSo: () => boolean, withinMs: number): Effect.Effect<void> =>
  Effect.sleep(lookEveryMs).pipe(
    Effect.repeat({ while: () => !isSo() }),
    Effect.timeoutOption(withinMs),
    Effect.when(Effect.sync(() => !isSo())),
    Effect.asVoid,
  )
