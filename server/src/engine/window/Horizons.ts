// The horizon is the cursor up to which all timers of a shard are in memory. There is one for all namespaces, and one
// for each excluded namespace (its due timers pile up). An excluded namespace is read when it gets room, and delays no
// other.
import { beginning, type Cursor, endOf, isBefore } from "../../domain/DueOrder.ts"
import type { Timer, Uuid } from "../../domain/Timer.ts"

export class Horizon {
  cursor: Cursor = beginning
  /** Offers beyond the cursor, while a running read is about to move it. */
  waiting: Map<Uuid, Timer> | undefined
  /** The size of the next timer beyond the cursor, if known. The timer was evicted, and needs that much room. */
  nextBytes = 0

  get isBeingRead(): boolean {
    return this.waiting !== undefined
  }

  covers(timer: Cursor): boolean {
    return !isBefore(this.cursor, timer)
  }

  /** Moves the cursor to just before the timer, which is not in memory. */
  endBefore(timer: Cursor, bytes: number): void {
    if (!this.covers(timer)) return
    this.cursor = justBefore(timer)
    this.nextBytes = bytes
  }

  advance(end: Cursor): void {
    this.cursor = end
    this.nextBytes = 0
  }
}

export class Horizons {
  readonly main = new Horizon()
  readonly #excluded = new Map<string, Horizon>()
  readonly #beingRead = new Set<Horizon>()

  get excludedNamespaces(): ReadonlyArray<string> {
    return [...this.#excluded.keys()]
  }

  get excludedCount(): number {
    return this.#excluded.size
  }

  isExcluded(namespace: string): boolean {
    return this.#excluded.has(namespace)
  }

  of(namespace: string): Horizon {
    return this.#excluded.get(namespace) ?? this.main
  }

  /** From now on the namespace has its own horizon, which begins at the main one. */
  exclude(namespace: string): void {
    if (this.#excluded.has(namespace)) return
    const horizon = new Horizon()
    horizon.cursor = this.main.cursor
    this.#excluded.set(namespace, horizon)
  }

  /** The namespace returns to the main horizon, if it has been read that far and no read is running. */
  readmit(namespace: string): void {
    const horizon = this.#excluded.get(namespace)
    if (horizon === undefined || this.main.isBeingRead || horizon.isBeingRead) return
    if (horizon.covers(this.main.cursor)) this.#excluded.delete(namespace)
  }

  /** Excluded namespaces that lag behind the main horizon, in the order of their turns. */
  lagging(): Array<{ readonly namespace: string; readonly horizon: Horizon }> {
    return [...this.#excluded].flatMap(([namespace, horizon]) =>
      horizon.isBeingRead || horizon.covers(this.main.cursor) ? [] : [{ namespace, horizon }],
    )
  }

  /** Up to this time no timer of any namespace is missing. */
  get nearestMs(): number {
    let nearest = this.main.cursor.fireAt
    for (const { cursor } of this.#excluded.values()) nearest = Math.min(nearest, cursor.fireAt)
    return nearest
  }

  /** The namespace has had its turn, so the others come first. */
  endTurn(namespace: string): void {
    const horizon = this.#excluded.get(namespace)
    if (horizon === undefined) return
    this.#excluded.delete(namespace)
    this.#excluded.set(namespace, horizon)
  }

  /** A read that will move the horizon begins. Offers beyond the horizon wait for it. */
  beginRead(horizon: Horizon): void {
    horizon.waiting = new Map()
    this.#beingRead.add(horizon)
  }

  /** The read has ended. Returns the offers that waited for it. */
  endRead(horizon: Horizon): ReadonlyArray<Timer> {
    const waiting = [...(horizon.waiting?.values() ?? [])]
    horizon.waiting = undefined
    this.#beingRead.delete(horizon)
    return waiting
  }

  /** Drops the offer of the key that waits for a read. */
  stopWaiting(uuid: Uuid): void {
    for (const horizon of this.#beingRead) horizon.waiting?.delete(uuid)
  }
}

/** The last cursor before that of the timer. */
const justBefore = ({ fireAt, fireId }: Cursor): Cursor => {
  const before = fireId.replace(
    /([1-9a-f])([0-]*)$/,
    (_, digit: string, zeros: string) =>
      (Number.parseInt(digit, 16) - 1).toString(16) + zeros.replaceAll("0", "f"),
  )
  return before === fireId ? endOf(fireAt - 1) : { fireAt, fireId: before }
}
