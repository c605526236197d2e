// The keys of a shard that have queued writes, and which of them are held. A timer does not start while its key has a
// queued write that may move or end it.
import type { Uuid } from "../../domain/Timer.ts"

/** The queued writes of one key. */
interface KeyWrites {
  count: number
  /** The first write that holds the key. `undefined` if no write holds it. */
  holder: object | undefined
  /** Further writes that hold the key, each as often as it was queued. Nearly all keys have none. */
  others: Array<object> | undefined
}

export class QueuedWrites {
  readonly #keys = new Map<Uuid, KeyWrites>()

  of(uuid: Uuid): number {
    return this.#keys.get(uuid)?.count ?? 0
  }

  isHeld(uuid: Uuid): boolean {
    return this.#keys.get(uuid)?.holder !== undefined
  }

  add(write: object, uuid: Uuid, holdsBack: boolean): void {
    const writes = this.#keys.get(uuid)
    if (writes === undefined) {
      this.#keys.set(uuid, { count: 1, holder: holdsBack ? write : undefined, others: undefined })
      return
    }
    writes.count++
    if (!holdsBack) return
    if (writes.holder === undefined) writes.holder = write
    else if (writes.others === undefined) writes.others = [write]
    else writes.others.push(write)
  }

  /** Returns whether this released the key. */
  remove(write: object, uuid: Uuid): boolean {
    const writes = this.#keys.get(uuid)
    if (writes === undefined) return false
    if (--writes.count === 0) this.#keys.delete(uuid)
    if (writes.holder === write) {
      writes.holder = writes.others?.shift()
      return writes.holder === undefined
    }
    const place = writes.others?.indexOf(write) ?? -1
    if (place >= 0) writes.others?.splice(place, 1)
    return false
  }
}
