// A decision has an answer for the caller and effects that a store carries out.
import type { FinishedLife, Timer } from "./Timer.ts"
import type { Unknown } from "./WriteItem.ts"

/** Counts armings by how they began and how they ended. The number begun minus the number ended is pending. */
export interface Tally {
  readonly created: number
  readonly rearmed: number
  readonly replayed: number
  readonly delivered: number
  readonly cancelled: number
  readonly replaced: number
  readonly dead: number
  readonly discarded: number
}

export const emptyTally: Tally = {
  created: 0,
  rearmed: 0,
  replayed: 0,
  delivered: 0,
  cancelled: 0,
  replaced: 0,
  dead: 0,
  discarded: 0,
}

export const tallyNames = Object.keys(emptyTally) as ReadonlyArray<keyof Tally>

export interface Decision<Answer> {
  readonly answer: Answer
  /** The new pending timer of the key. `null` removes the pending timer; if absent, nothing changes. */
  readonly pending?: Timer | null
  /** The payload changed too. Without this flag a store must not rewrite the payload. */
  readonly payloadChanged?: boolean
  /** A life that ended. By its state it goes to the history or to the dead letters. */
  readonly finished?: FinishedLife
  /** The history entry with the same fireId that the finished life replaces. */
  readonly corrects?: FinishedLife
  /** The finished life is added only if no life with its fireId has ended. */
  readonly addsOnce?: true
  /** A dead letter that the store removes. */
  readonly removesDead?: FinishedLife
  readonly tally?: Partial<Tally>
}

/** What a store knows about a key. */
export interface Known {
  readonly pending: Timer | undefined
  /**
   * The finished life with the highest revision, which may be a dead letter. A life that is recorded late may end after
   * it.
   */
  readonly last: FinishedLife | undefined
  /** The finished lives that the item names by fireId and that exist. */
  readonly lives?: ReadonlyArray<FinishedLife>
}

/** The key was never used, or all traces of it were removed. */
export const nothingKnown: Known = { pending: undefined, last: undefined }

/** The answer to a marked repeat if the store does not show whether the item was already carried out. */
export const unknown: Decision<Unknown> = { answer: { result: "unknown" } }

export const addTallies = (a: Tally, b: Partial<Tally>): Tally => ({
  created: a.created + (b.created ?? 0),
  rearmed: a.rearmed + (b.rearmed ?? 0),
  replayed: a.replayed + (b.replayed ?? 0),
  delivered: a.delivered + (b.delivered ?? 0),
  cancelled: a.cancelled + (b.cancelled ?? 0),
  replaced: a.replaced + (b.replaced ?? 0),
  dead: a.dead + (b.dead ?? 0),
  discarded: a.discarded + (b.discarded ?? 0),
})

/** The tally of all these changes together. */
export const tallyOfAll = (changes: ReadonlyArray<{ readonly tally: Partial<Tally> }>): Tally =>
  changes.reduce((sum, { tally }) => addTallies(sum, tally), emptyTally)

/** The pending timers, as the tally counts them. */
export const pendingOf = (tally: Tally): number =>
  tally.created +
  tally.rearmed +
  tally.replayed -
  (tally.delivered + tally.cancelled + tally.replaced + tally.dead + tally.discarded)
