// Whether something that an archive holds may be put into a store, from what the store knows of its key. Nothing that
// is there is ever overwritten: a restore that is repeated, or that comes late, adds what is missing and no more.
import type { Tally } from "./decide.ts"
import type { FinishedLife, Timer } from "./Timer.ts"
import type { Unstorable } from "./WriteItem.ts"

export type ArchivedItem =
  | { readonly kind: "pending"; readonly timer: Timer }
  | { readonly kind: "ended"; readonly life: FinishedLife }

/** `present`: this very arming is there. `differs`: its key has gone another way, which is left as it is. */
export type RestoreResult = { readonly result: "restored" | "present" | "differs" } | Unstorable

/** What the store knows of the item's key. */
export interface KnownToRestore {
  readonly pending: Pick<Timer, "fireId"> | undefined
  /** Of the life that ended last. */
  readonly lastRevision: number | undefined
  /** Whether a life with the item's own fireId has ended there. */
  readonly hasEnded: boolean
}

export const decideRestore = (
  item: ArchivedItem,
  known: KnownToRestore,
): { readonly result: "restored" | "present" | "differs"; readonly tally?: Partial<Tally> } => {
  if (known.hasEnded) return { result: "present" }
  if (item.kind === "ended") {
    // Here it is still to fire: what the archive knows of its end is another store's story.
    if (known.pending?.fireId === item.life.fireId) return { result: "differs" }
    return { result: "restored", tally: { created: 1, [item.life.state]: 1 } }
  }
  if (known.pending !== undefined) {
    return { result: known.pending.fireId === item.timer.fireId ? "present" : "differs" }
  }
  // Revisions only grow for a key: one that ended later than this arming must not be followed by it.
  if (known.lastRevision !== undefined && known.lastRevision >= item.timer.revision) {
    return { result: "differs" }
  }
  return { result: "restored", tally: { created: 1 } }
}

export const keyOfArchived = (item: ArchivedItem): Timer | FinishedLife =>
  item.kind === "pending" ? item.timer : item.life

/** Why the item is more than a store can hold, if it is: it is weighed like a write. */
export const whyTooLarge = (item: ArchivedItem, itemBytesMax: number): Unstorable | undefined => {
  const bytes = 500 + (keyOfArchived(item).payload?.byteLength ?? 0)
  return bytes > itemBytesMax
    ? {
        result: "unstorable",
        reason: `The item has ${bytes} bytes; this store holds at most ${itemBytesMax}.`,
      }
    : undefined
}
