// Which keys of a shard have writes in the queue, and which of them are held back: a timer whose key has a write
// that may move or end it does not start until that is answered.
import type { Uuid } from "../domain/Timer.ts"

export class QueuedWrites {
  private readonly queued = new Counts<Uuid>()
  private readonly holds = new Counts<Uuid>()
  /** The writes that hold their keys back: the same one may be asked for again. */
  private readonly holding = new Counts<object>()

  of(uuid: Uuid): number {
    return this.queued.of(uuid)
  }

  isHeld(uuid: Uuid): boolean {
    return this.holds.has(uuid)
  }

  add(write: object, uuid: Uuid, holdsBack: boolean): void {
    this.queued.add(uuid)
    if (!holdsBack) return
    this.holding.add(write)
    this.holds.add(uuid)
  }

  /** Whether the key is held no more by this. */
  remove(write: object, uuid: Uuid): boolean {
    this.queued.remove(uuid)
    if (!this.holding.has(write)) return false
    this.holding.remove(write)
    this.holds.remove(uuid)
    return !this.isHeld(uuid)
  }
}

/** How often each is there. Nearly all are there once, so that a set does most of the work. */
class Counts<Key> {
  private readonly keys = new Set<Key>()
  /** Of those that are there more than once, how often more. */
  private readonly further = new Map<Key, number>()

  has(key: Key): boolean {
    return this.keys.has(key)
  }

  of(key: Key): number {
    return this.keys.has(key) ? 1 + (this.further.get(key) ?? 0) : 0
  }

  add(key: Key): void {
    const before = this.keys.size
    this.keys.add(key)
    if (this.keys.size === before) this.further.set(key, (this.further.get(key) ?? 0) + 1)
  }

  remove(key: Key): void {
    const more = this.further.size === 0 ? 0 : (this.further.get(key) ?? 0)
    if (more === 0) this.keys.delete(key)
    else if (more === 1) this.further.delete(key)
    else this.further.set(key, more - 1)
  }
}
