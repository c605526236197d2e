// How an owned shard comes to rest before another node gets it, so that a planned move loses nothing and repeats
// only what takes long: no attempt starts any more, those that run may end and be settled, writes are taken all the
// while; then the queue takes no more, and what is in it is written. Whatever is not done within the bounds is repeated
// by the next owner, with the same fireId: a node that must go cannot wait for one slow endpoint.
import { Effect } from "effect"
import type { ShardLoop } from "../window/ShardLoop.ts"
import type { WriteQueue } from "../writing/WriteQueue.ts"

/** The longest that a shard's due timers wait for attempts that still run. */
const settleWithinMs = 2_000
/** A store that does not answer must not keep the shard from an owner for which it might. */
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
