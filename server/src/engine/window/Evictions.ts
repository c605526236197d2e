// Evicts timers from a full window, so that due timers get room. Timers that are due later go first. Then the namespace
// with the most due timers loses half of what it has. No namespace is left without any. Evicted timers are not read
// again until other timers have left, because otherwise a full window would read in circles. Every evicted timer is in
// the store, and its horizon ends before it.
import { compareDue } from "../../domain/DueOrder.ts"
import type { Uuid } from "../../domain/Timer.ts"
import type { Allotment } from "./Allotment.ts"
import type { Entry } from "./Entry.ts"
import type { Horizon, Horizons } from "./Horizons.ts"
import type { Room } from "./Room.ts"
import type { Tenants } from "./Tenants.ts"
import type { WaitingTimers } from "./WaitingTimers.ts"

export interface EvictionsParts {
  readonly entries: ReadonlyMap<Uuid, Entry>
  readonly waiting: WaitingTimers
  readonly horizons: Horizons
  readonly tenants: Tenants
  readonly room: Room
  readonly allotment: Allotment
  /** Takes an entry out of the window. */
  readonly drop: (entry: Entry) => void
}

export class Evictions {
  /** Timers were evicted or could not be loaded, and there has been no room for a page since then. */
  isShortOfRoom = false
  readonly #parts: EvictionsParts
  /** No waiting timer is due later than this. */
  #latestWaitingMs = Number.NEGATIVE_INFINITY

  constructor(parts: EvictionsParts) {
    this.#parts = parts
  }

  noteWaiting({ fireAt }: Entry): void {
    if (fireAt > this.#latestWaitingMs) this.#latestWaitingMs = fireAt
  }

  /**
   * Due timers replace timers that are not due, and then take room from the namespace with the most. Timers that are
   * due soon only replace later ones.
   */
  makeRoomForMain(nowMs: number): boolean {
    const { allotment, horizons } = this.#parts
    if (allotment.isOverdue(horizons.main, nowMs)) return this.#letLaterGo(nowMs) || this.#relieve()
    if (!allotment.isBehind(nowMs) || allotment.mainPartFree <= 0) return false
    return this.#letLaterGo(nowMs + allotment.urgentMs)
  }

  /**
   * Makes room for missing due timers of an excluded namespace, and returns how many fit then. They replace timers that
   * are due later. They put the other namespaces behind only if the namespace has no due timers in memory, or if its
   * reserve is unused. If it has none, it also takes room from the namespace with the most.
   */
  makeRoomFor({ nextBytes }: Horizon, isInNeed: boolean, nowMs: number): number {
    const { allotment, room } = this.#parts
    for (let free = room.free(nextBytes); ; free = room.free(nextBytes)) {
      const comesFirst = isInNeed || allotment.reserveFree >= 1
      const keepUntilMs = comesFirst ? nowMs : nowMs + 2 * allotment.urgentMs
      if (free > 0 || !(this.#letLaterGo(keepUntilMs) || (isInNeed && this.#relieve()))) return free
    }
  }

  /** The namespace with the most due timers gives half of its room back, and is excluded. */
  #relieve(): boolean {
    const namespace = this.#parts.tenants.mostDue()
    if (namespace === undefined) return false
    this.#parts.horizons.exclude(namespace)
    const removable = [...this.#parts.entries.values()]
      .filter((entry) => entry.timer.namespace === namespace && isRemovable(entry))
      .sort(compareDue)
    this.#letGo(removable, Math.ceil(removable.length / 2))
    return true
  }

  /** Evicts the latest of the waiting timers that are due after this time, at most an eighth of the window. */
  #letLaterGo(keepUntilMs: number): boolean {
    if (this.#latestWaitingMs <= keepUntilMs) return false
    const later = [...this.#parts.waiting.values()]
      .filter(({ fireAt }) => fireAt > keepUntilMs)
      .sort(compareDue)
    const kept = Math.max(0, later.length - Math.ceil(this.#parts.room.capacity / 8))
    this.#latestWaitingMs = later[kept - 1]?.fireAt ?? keepUntilMs
    this.#letGo(later, kept)
    return later.length > 0
  }

  /**
   * Beyond the limits, evicts the farthest timers, an eighth of the window at a time. Otherwise each write at a full
   * window would evict.
   */
  enforceBounds(): void {
    if (this.#parts.room.isOverfull) this.#letGoOf([...this.#parts.waiting.values()], 7 / 8)
  }

  /**
   * A page needed more room than was free. Evicts the last timers of its horizon, but no more than necessary. Other
   * horizons are not touched. The evicted timers are not read again until there is room for their size.
   */
  fitIn(horizon: Horizon): void {
    if (!this.#parts.room.isOverfull) return
    const isOfPage = ({ timer }: Entry) => this.#parts.horizons.of(timer.namespace) === horizon
    this.#letGoOf([...this.#parts.waiting.values()].filter(isOfPage), 1)
  }

  /** Evicts the latest of these until at most this part of the limits is used. */
  #letGoOf(waiting: Array<Entry>, part: number): void {
    waiting.sort(compareDue)
    this.#letGo(waiting, this.#parts.room.keepable(waiting, part))
  }

  /** Evicts the entries from `first` on, which are in due order. Their horizons end before them. */
  #letGo(entries: ReadonlyArray<Entry>, first: number): void {
    const dropped = entries.slice(first)
    if (dropped.length === 0) return
    for (const entry of dropped) this.#parts.horizons.of(entry.timer.namespace).endBefore(entry, entry.bytes)
    for (const entry of dropped) this.#parts.drop(entry)
    this.isShortOfRoom = true
  }
}

const isRemovable = (entry: Entry): boolean =>
  entry.state === "waiting" || entry.state === "ready" || entry.state === "held"
