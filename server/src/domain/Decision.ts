// What a decision consists of: the answer for the caller, and the effects that a store carries out.
import type { FinishedLife, Timer } from "./Timer.ts"
import type { Unknown } from "./WriteItem.ts"

/** Armings by how they began and how they ended: `begun` minus all ends is what is pending. */
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

export interface Decision<Answer> {
  readonly answer: Answer
  /** What is pending under the key from now on; `null` removes it; absent changes nothing. */
  readonly pending?: Timer | null
  /** The pending payload changed too; without this a store must not rewrite it. */
  readonly payloadChanged?: boolean
  /** A life that ended: to history, or to the dead letters by its state. */
  readonly finished?: FinishedLife
  /** The history entry of the same fireId that the finished life takes the place of. */
  readonly corrects?: FinishedLife
  /** The finished life is added only if no life with its fireId has ended. */
  readonly addsOnce?: true
  /** A dead letter that the store removes. */
  readonly removesDead?: FinishedLife
  readonly tally?: Partial<Tally>
}

/** What a store knows of a key. */
export interface Known {
  readonly pending: Timer | undefined
  /** The finished life with the highest revision; a dead letter counts. A life that is recorded late may have ended after it. */
  readonly last: FinishedLife | undefined
  /** The finished lives that the item names by their fireIds, as far as they exist. */
  readonly lives?: ReadonlyArray<FinishedLife>
}

/** The key was never used, or all traces of it were removed. */
export const nothingKnown: Known = { pending: undefined, last: undefined }

/** Of a marked repeat: nothing shows whether it was done before. */
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
