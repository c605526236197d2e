// What a storage must check before it inserts timers for a shard without an owner.
import type { Timer } from "../domain/Timer.ts"
import type { Inserted, KeyChange } from "../ports/ShardStorage.ts"
import { wordsOfNew } from "./keyChangeOf.ts"
import { whyUnstorable } from "./whyUnstorable.ts"

interface Insertion {
  readonly shard: number
  readonly change: KeyChange
  readonly index: number
}

/** The change that stores a timer if its key is unused. */
export const insertionOf = (timer: Timer): KeyChange => ({
  key: timer,
  expects: { pending: null, last: null },
  pending: timer,
  payload: "write",
  tally: { created: 1 },
  ...wordsOfNew(timer),
})

/**
 * The changes to try, and the answers for everything else. All others are answered as missed until they are stored. The
 * second timer of a key misses because of the first.
 */
export const insertionsOf = (
  shard: number,
  timers: ReadonlyArray<Timer>,
  why: (change: KeyChange) => string | undefined = whyUnstorable,
): { readonly answers: Array<Inserted>; readonly asked: ReadonlyArray<Insertion> } => {
  const keys = new Set<string>()
  const asked: Array<Insertion> = []
  const answers = timers.map((timer, index): Inserted => {
    const change = insertionOf(timer)
    const refused = why(change)
    if (refused !== undefined) return { refused }
    if (!keys.has(timer.uuid)) asked.push({ shard, change, index })
    keys.add(timer.uuid)
    return "missed"
  })
  return { answers, asked }
}
