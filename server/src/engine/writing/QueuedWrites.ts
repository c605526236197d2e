// The keys of a shard that have queued writes, and which of them are held. A timer does not start while its key has a
// queued write that may move or end it.
import type { Uuid } from "../../domain/Timer.ts"

/** The queued writes of one key. */
interface KeyWrites {
  count: number
  /** The writes that hold the key, each as often as it was queued. Nearly all keys have one write or none. */
  readonly holding: Array<object>
}

export class QueuedWrites {
  readonly #keys = new Map<Uuid, KeyWrites>()

  of(uuid: Uuid): number {
    return this.#keys.get(uuid)?.count ?? 0
  }

  isHeld(uuid: Uuid): boolean {
    const writes = this.#keys.get(uuid)
    return writes !== undefined && writes.holding.length > 0
  }

  add(write: object, uuid: Uuid, holdsBack: boolean): void {
    const writes = this.#keys.get(uuid)
    if (writes === undefined) this.#keys.set(uuid, { count: 1, holding: holdsBack ? [write] : [] })
    else {
      writes.count++
      if (holdsBack) writes.holding.push(write)
    }
  }

  /** Returns whether this released the key. */
  remove(write: object, uuid: Uuid): boolean {
    const writes = this.#keys.get(uuid)
    if (writes === undefined) return false
    if (--writes.count === 0) this.#keys.delete(uuid)
    const place = writes.holding.indexOf(write)
    if (place < 0) return false
    writes.holding.splice(place, 1)
    return writes.holding.length === 0
  }
}
