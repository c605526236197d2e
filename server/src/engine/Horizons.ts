// Up to where the timers of a shard are all in memory: one cursor for all namespaces, and one of its own for
// each that is excluded (its due timers pile up), so that it is read as it gets room and keeps nobody waiting.
import { beginning, type Cursor, isBefore } from "../domain/DueOrder.ts"
import type { Timer, Uuid } from "../domain/Timer.ts"

export class Horizon {
  cursor: Cursor = beginning
  /** Offers beyond the cursor, while a read that will move it runs. */
  waiting: Map<Uuid, Timer> | undefined

  get isBeingRead(): boolean {
    return this.waiting !== undefined
  }

  covers(timer: Cursor): boolean {
    return !isBefore(this.cursor, timer)
  }

  /** Ends no later than there. */
  pullBack(end: Cursor): void {
    if (isBefore(end, this.cursor)) this.cursor = end
  }
}

export class Horizons {
  readonly main = new Horizon()
  private readonly excluded = new Map<string, Horizon>()
  private readonly beingRead = new Set<Horizon>()

  get excludedNamespaces(): ReadonlyArray<string> {
    return [...this.excluded.keys()]
  }

  get excludedCount(): number {
    return this.excluded.size
  }

  isExcluded(namespace: string): boolean {
    return this.excluded.has(namespace)
  }

  of(namespace: string): Horizon {
    return this.excluded.get(namespace) ?? this.main
  }

  /** From here on the namespace has a horizon of its own, which begins where the main one is. */
  exclude(namespace: string): void {
    if (this.excluded.has(namespace)) return
    const horizon = new Horizon()
    horizon.cursor = this.main.cursor
    this.excluded.set(namespace, horizon)
  }

  /** Rejoins the main horizon, if it has been read up to there and no read is under way. */
  readmit(namespace: string): void {
    const horizon = this.excluded.get(namespace)
    if (horizon === undefined || this.main.isBeingRead || horizon.isBeingRead) return
    if (horizon.covers(this.main.cursor)) this.excluded.delete(namespace)
  }

  /** The first excluded namespace that lags behind the main horizon and that `mayRead`; its turn is then over. */
  nextLagging(mayRead: (namespace: string) => boolean): { namespace: string; horizon: Horizon } | undefined {
    for (const [namespace, horizon] of this.excluded) {
      if (horizon.isBeingRead || horizon.covers(this.main.cursor) || !mayRead(namespace)) continue
      this.excluded.delete(namespace)
      this.excluded.set(namespace, horizon)
      return { namespace, horizon }
    }
    return undefined
  }

  /** A read that will move the horizon begins: offers beyond it wait. */
  beginRead(horizon: Horizon): void {
    horizon.waiting = new Map()
    this.beingRead.add(horizon)
  }

  /** The read is over; what waited for it. */
  endRead(horizon: Horizon): ReadonlyArray<Timer> {
    const waiting = [...(horizon.waiting?.values() ?? [])]
    horizon.waiting = undefined
    this.beingRead.delete(horizon)
    return waiting
  }

  /** An offer of the key that waits for a read is void. */
  stopWaiting(uuid: Uuid): void {
    for (const horizon of this.beingRead) horizon.waiting?.delete(uuid)
  }
}
