// Which keys of a shard have writes in the queue, and which of them are held back: a timer whose key has a write
// that may move or end it does not start until that is answered.
import type { Uuid } from "../domain/Timer.ts"

export class QueuedWrites {
  private readonly counts = new Map<Uuid, number>()
  private readonly holds = new Map<Uuid, number>()
  /** How often each write that holds its key back is queued: the same one may be asked for again. */
  private readonly holding = new Map<object, number>()

  of(uuid: Uuid): number {
    return this.counts.get(uuid) ?? 0
  }

  isHeld(uuid: Uuid): boolean {
    return this.holds.has(uuid)
  }

  add(write: object, uuid: Uuid, holdsBack: boolean): void {
    raise(this.counts, uuid)
    if (!holdsBack) return
    raise(this.holding, write)
    raise(this.holds, uuid)
  }

  /** Whether the key is held no more by this. */
  remove(write: object, uuid: Uuid): boolean {
    lower(this.counts, uuid)
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
