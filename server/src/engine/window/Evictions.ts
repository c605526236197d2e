// What a full window lets go of, so that what is due gets room: what is due later goes first, then half of what the
// namespace with the most due timers has. Nobody is left without any, so what was pushed out is not read again until
// something has gone: else a full window would read in circles. Whatever goes is in the store, and its horizon ends
// before it.
import { compareDue } from "../../domain/DueOrder.ts"
import type { Uuid } from "../../domain/Timer.ts"
import type { Allotment } from "./Allotment.ts"
import type { DueHeap } from "./DueHeap.ts"
import type { Entry } from "./Entry.ts"
import type { Horizon, Horizons } from "./Horizons.ts"
import type { Room } from "./Room.ts"
import type { Tenants } from "./Tenants.ts"

export interface EvictionsParts {
  readonly entries: ReadonlyMap<Uuid, Entry>
  /** Those that wait. */
  readonly heap: DueHeap<Entry>
  readonly horizons: Horizons
  readonly tenants: Tenants
  readonly room: Room
  readonly allotment: Allotment
  /** Takes an entry out of the window. */
  readonly drop: (entry: Entry) => void
}

export class Evictions {
  /** Something had to go, or could not come, since there was last room for a page. */
  isShortOfRoom = false
  readonly #parts: EvictionsParts
  /** Nothing that waits is due later than this. */
  #latestWaitingMs = Number.NEGATIVE_INFINITY

  constructor(parts: EvictionsParts) {
    this.#parts = parts
  }

  noteWaiting({ fireAt }: Entry): void {
    if (fireAt > this.#latestWaitingMs) this.#latestWaitingMs = fireAt
  }

  /** What is due pushes out what is not, and then takes from who has the most; what is due soon, what is not. */
  makeRoomForMain(nowMs: number): boolean {
    const { allotment, horizons } = this.#parts
    if (allotment.isOverdue(horizons.main, nowMs)) return this.#letLaterGo(nowMs) || this.#relieve()
    if (!allotment.isBehind(nowMs) || allotment.mainPartFree <= 0) return false
    return this.#letLaterGo(nowMs + allotment.urgentMs)
  }

  /**
   * Something due of an excluded namespace is missing. It pushes out what is due later, but does not put the others
   * behind, unless it has none or what is kept for it is not used; and having none, it takes from who has the most.
   * How many fit then.
   */
  makeRoomFor({ nextBytes }: Horizon, isInNeed: boolean, nowMs: number): number {
    const { allotment, room } = this.#parts
    for (let free = room.free(nextBytes); ; free = room.free(nextBytes)) {
      const comesFirst = isInNeed || allotment.reserveFree >= 1
      const keepUntilMs = comesFirst ? nowMs : nowMs + 2 * allotment.urgentMs
      if (free > 0 || !(this.#letLaterGo(keepUntilMs) || (isInNeed && this.#relieve()))) return free
    }
  }

  /** The namespace with the most due timers gives half of its room back; what it has left is its own. */
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

  /** Lets go of the latest of what waits and is due after this, an eighth of the window at most. */
  #letLaterGo(keepUntilMs: number): boolean {
    if (this.#latestWaitingMs <= keepUntilMs) return false
    const later = [...this.#parts.heap.values()].filter(({ fireAt }) => fireAt > keepUntilMs).sort(compareDue)
    const kept = Math.max(0, later.length - Math.ceil(this.#parts.room.capacity / 8))
    this.#latestWaitingMs = later[kept - 1]?.fireAt ?? keepUntilMs
    this.#letGo(later, kept)
    return later.length > 0
  }

  /** Past the bound the farthest are let go, an eighth at a time: else each write at a full window would. */
  enforceBounds(): void {
    if (this.#parts.room.isOverfull) this.#letGoOf([...this.#parts.heap.values()], 7 / 8)
  }

  /**
   * A page weighed more than its room: the last of its horizon are let go, and no more than must. Others stay as
   * they are, and what went is not read again until there is room for its weight.
   */
  fitIn(horizon: Horizon): void {
    if (!this.#parts.room.isOverfull) return
    const isOfPage = ({ timer }: Entry) => this.#parts.horizons.of(timer.namespace) === horizon
    this.#letGoOf([...this.#parts.heap.values()].filter(isOfPage), 1)
  }

  /** Lets go of the latest of these until no more than a part of the bounds is used. */
  #letGoOf(waiting: Array<Entry>, part: number): void {
    waiting.sort(compareDue)
    this.#letGo(waiting, this.#parts.room.keepable(waiting, part))
  }

  /** Of entries in due order, lets go of those from `first` on; their horizons end before them. */
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
