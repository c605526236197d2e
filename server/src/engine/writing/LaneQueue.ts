// The writes of one shard that wait for a commit, in order. A commit takes each key once. Otherwise the commit could not
// be repeated unchanged: a create that is replaced and cancelled later in the same commit would find its key free again.
import type { Uuid } from "../../domain/Timer.ts"
import type { WriteAnswer, WriteItem } from "../../domain/WriteItem.ts"
import { keyOfItem } from "../../domain/WriteItem.ts"

/** The shard was given up before there was an answer. Either nothing was written, or the result is unknown. */
export type Unanswered = "notWritten" | "unknown"

export interface QueuedWrite {
  readonly item: WriteItem
  /** Called exactly once, with the store's answer or with the reason why there is none. */
  readonly onAnswer: (answer: WriteAnswer | Unanswered) => void
  /** The caller knows that no other write of this key is queued. */
  readonly isOnlyOfKey?: boolean
  /** Nobody waits for the answer, so the write may wait a few milliseconds for others that share its commit. */
  readonly canWait?: boolean
}

/** A write with its size, which is needed more than once. */
export interface WeighedWrite extends QueuedWrite {
  readonly bytes: number
}

/**
 * A key may have thousands of lives to restore. Stores process them one after the other within a call, and a call must
 * end soon.
 */
const restoresOfKeyAtOnce = 16

export class LaneQueue {
  #writes: Array<WeighedWrite> = []
  /** How many of the writes may have the same key as an earlier one. */
  #repeatable = 0

  get length(): number {
    return this.#writes.length
  }

  push(write: WeighedWrite): void {
    this.#writes.push(write)
    if (write.isOnlyOfKey !== true) this.#repeatable++
  }

  /** Takes the first write, whatever its size. */
  takeFirst(): WeighedWrite | undefined {
    const first = this.#writes.shift()
    if (first !== undefined) this.#forget(first)
    return first
  }

  takeAll(): ReadonlyArray<WeighedWrite> {
    const all = this.#writes
    this.#writes = []
    this.#repeatable = 0
    return all
  }

  /** Takes what fits into a commit, in order, with each key once. */
  take(mostItems: number, mostBytes: number): Array<WeighedWrite> {
    // Comparing keys takes a quarter of the queue's time. Nearly all writes of callers are the only ones of their keys.
    return this.#repeatable === 0
      ? this.#takeDistinct(mostItems, mostBytes)
      : this.#takeEachKeyOnce(mostItems, mostBytes)
  }

  #takeDistinct(mostItems: number, mostBytes: number): Array<WeighedWrite> {
    const end = Math.min(mostItems, this.#writes.length)
    let bytes = 0
    let next = 0
    for (; next < end; next++) {
      bytes += this.#writes[next]?.bytes ?? 0
      if (bytes > mostBytes) break
    }
    const taken = next === this.#writes.length ? this.#writes : this.#writes.slice(0, next)
    this.#writes = next === this.#writes.length ? [] : this.#writes.slice(next)
    return taken
  }

  /**
   * Later writes of a taken key stay in the queue and do not block other keys. Only restores of one key go together, up
   * to `restoresOfKeyAtOnce`. They overwrite nothing, so repeating several is as harmless as repeating one.
   */
  #takeEachKeyOnce(mostItems: number, mostBytes: number): Array<WeighedWrite> {
    const taken: Array<WeighedWrite> = []
    const left: Array<WeighedWrite> = []
    const keys = new Set<Uuid>()
    /** For keys with restores: how many may still be taken. 0 once any write of the key stays in the queue. */
    const restoresLeft = new Map<Uuid, number>()
    let bytes = 0
    let next = 0
    for (; next < this.#writes.length && taken.length < mostItems; next++) {
      const write = this.#writes[next]
      if (write === undefined) break
      const { item } = write
      const { uuid } = keyOfItem(item)
      const isRestore = item.kind === "restore"
      const more = isRestore ? (restoresLeft.get(uuid) ?? 0) : 0
      // One lookup of the key instead of two: the set grows only if the key is new.
      const keysBefore = keys.size
      const isRepeated = keys.add(uuid).size === keysBefore
      if (isRepeated && more === 0) {
        left.push(write)
        restoresLeft.delete(uuid)
        continue
      }
      if (bytes + write.bytes > mostBytes) break
      if (isRestore) restoresLeft.set(uuid, (isRepeated ? more : restoresOfKeyAtOnce) - 1)
      bytes += write.bytes
      taken.push(write)
      this.#forget(write)
    }
    this.#writes = next === this.#writes.length ? left : left.concat(this.#writes.slice(next))
    return taken
  }

  #forget({ isOnlyOfKey }: WeighedWrite): void {
    if (isOnlyOfKey !== true) this.#repeatable--
  }
}
