// Up to where the timers of a shard are all in memory: one cursor for all namespaces, and one of its own for
// each that is excluded (its due timers pile up), so that it is read as it gets room and keeps nobody waiting.
import { beginning, type Cursor, endOf, isBefore } from "../../domain/DueOrder.ts"
import type { Timer, Uuid } from "../../domain/Timer.ts"

export class Horizon {
  cursor: Cursor = beginning
  /** Offers beyond the cursor, while a read that will move it runs. */
  waiting: Map<Uuid, Timer> | undefined
  /** What the next timer beyond the cursor weighs, if it is known: it was let go, and needs that much room. */
  nextBytes = 0

  get isBeingRead(): boolean {
    return this.waiting !== undefined
  }

  covers(timer: Cursor): boolean {
    return !isBefore(this.cursor, timer)
  }

  /** Ends before the timer, which is not in memory, and next to it. */
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

  /** From here on the namespace has a horizon of its own, which begins where the main one is. */
  exclude(namespace: string): void {
    if (this.#excluded.has(namespace)) return
    const horizon = new Horizon()
    horizon.cursor = this.main.cursor
    this.#excluded.set(namespace, horizon)
  }

  /** Rejoins the main horizon, if it has been read up to there and no read is under way. */
  readmit(namespace: string): void {
    const horizon = this.#excluded.get(namespace)
    if (horizon === undefined || this.main.isBeingRead || horizon.isBeingRead) return
    if (horizon.covers(this.main.cursor)) this.#excluded.delete(namespace)
  }

  /** Excluded namespaces that lag behind the main horizon, in turn. */
  lagging(): Array<{ readonly namespace: string; readonly horizon: Horizon }> {
    return [...this.#excluded].flatMap(([namespace, horizon]) =>
      horizon.isBeingRead || horizon.covers(this.main.cursor) ? [] : [{ namespace, horizon }],
    )
  }

  /** Up to where nothing is missing, of whichever namespace. */
  get nearestMs(): number {
    let nearest = this.main.cursor.fireAt
    for (const { cursor } of this.#excluded.values()) nearest = Math.min(nearest, cursor.fireAt)
    return nearest
  }

  /** The namespace has had its turn: the others come first. */
  endTurn(namespace: string): void {
    const horizon = this.#excluded.get(namespace)
    if (horizon === undefined) return
    this.#excluded.delete(namespace)
    this.#excluded.set(namespace, horizon)
  }

  /** A read that will move the horizon begins: offers beyond it wait. */
  beginRead(horizon: Horizon): void {
    horizon.waiting = new Map()
    this.#beingRead.add(horizon)
  }

  /** The read is over; what waited for it. */
  endRead(horizon: Horizon): ReadonlyArray<Timer> {
    const waiting = [...(horizon.waiting?.values() ?? [])]
    horizon.waiting = undefined
    this.#beingRead.delete(horizon)
    return waiting
  }

  /** An offer of the key that waits for a read is void. */
  stopWaiting(uuid: Uuid): void {
    for (const horizon of this.#beingRead) horizon.waiting?.delete(uuid)
  }
}

/** The cursor next to that of the timer, below it. */
const justBefore = ({ fireAt, fireId }: Cursor): Cursor => {
  const before = fireId.replace(
    /([1-9a-f])([0-]*)$/,
    (_, digit: string, zeros: string) =>
      (Number.parseInt(digit, 16) - 1).toString(16) + zeros.replaceAll("0", "f"),
  )
  return before === fireId ? endOf(fireAt - 1) : { fireAt, fireId: before }
}
