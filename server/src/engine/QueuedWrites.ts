// Which keys of a shard have writes in the queue, and which of them are held back: a timer whose key has a write
// that may move or end it does not start until that is answered.
import type { Uuid } from "../domain/Timer.ts"

export class QueuedWrites {
  /** Keys with a queued write. Nearly all have one. */
  private readonly keys = new Set<Uuid>()
  /** Of keys that have more than one, how many more. */
  private readonly further = new Map<Uuid, number>()
  private readonly holds = new Map<Uuid, number>()
  /** How often each write that holds its key back is queued: the same one may be asked for again. */
  private readonly holding = new Map<object, number>()

  of(uuid: Uuid): number {
    return this.keys.has(uuid) ? 1 + (this.further.get(uuid) ?? 0) : 0
  }

  isHeld(uuid: Uuid): boolean {
    return this.holds.has(uuid)
  }

  add(write: object, uuid: Uuid, holdsBack: boolean): void {
    const before = this.keys.size
    this.keys.add(uuid)
    if (this.keys.size === before) raise(this.further, uuid)
    if (!holdsBack) return
    raise(this.holding, write)
    raise(this.holds, uuid)
  }

  /** Whether the key is held no more by this. */
  remove(write: object, uuid: Uuid): boolean {
    if (this.further.size > 0 && this.further.has(uuid)) lower(this.further, uuid)
    else this.keys.delete(uuid)
    if (!this.holding.has(write)) return false
    lower(this.holding, write)
    lower(this.holds, uuid)
    return !this.isHeld(uuid)
  }
}

const raise = <Key>(counts: Map<Key, number>, key: Key): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

const lower = <Key>(counts: Map<Key, number>, key: Key): void => {
  const left = (counts.get(key) ?? 0) - 1
  if (left > 0) counts.set(key, left)
  else counts.delete(key)
}
