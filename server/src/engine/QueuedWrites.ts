// Which keys of a shard have writes in the queue, and which of them are held back: a timer whose key has a write
// that may move or end it does not start until that is answered.
import type { Uuid } from "../domain/Timer.ts"

export class QueuedWrites {
  private readonly counts = new Map<Uuid, number>()
  private readonly holds = new Map<Uuid, number>()
  private readonly holding = new Set<object>()

  of(uuid: Uuid): number {
    return this.counts.get(uuid) ?? 0
  }

  isHeld(uuid: Uuid): boolean {
    return this.holds.has(uuid)
  }

  add(write: object, uuid: Uuid, holdsBack: boolean): void {
    raise(this.counts, uuid)
    if (!holdsBack) return
    this.holding.add(write)
    raise(this.holds, uuid)
  }

  /** Whether the key is held no more by this. */
  remove(write: object, uuid: Uuid): boolean {
    lower(this.counts, uuid)
    if (!this.holding.delete(write)) return false
    lower(this.holds, uuid)
    return !this.isHeld(uuid)
  }
}

const raise = (counts: Map<Uuid, number>, uuid: Uuid): void => {
  counts.set(uuid, (counts.get(uuid) ?? 0) + 1)
}

const lower = (counts: Map<Uuid, number>, uuid: Uuid): void => {
  const left = (counts.get(uuid) ?? 0) - 1
  if (left > 0) counts.set(uuid, left)
  else counts.delete(uuid)
}
