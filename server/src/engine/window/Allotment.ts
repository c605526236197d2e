// Decides how a window's room is shared: due timers come before others, and every namespace gets some room for its due
// timers. This class only computes. The window itself reads and evicts.
import { endOf } from "../../domain/DueOrder.ts"
import type { Entry } from "./Entry.ts"
import type { Horizon, Horizons } from "./Horizons.ts"
import type { Room } from "./Room.ts"
import type { Tenants } from "./Tenants.ts"

/** Longer than the loops of a shard sleep. */
const longestUrgentMs = 2_000

/** The room that an excluded namespace gets. */
export interface Claim {
  /** How many timers, if there is room. */
  readonly timers: number
  /** Due timers of the namespace are missing, so room is made for them. */
  readonly isOverdue: boolean
  /** No due timer of the namespace is in memory either. */
  readonly isInNeed: boolean
}

const noClaim: Claim = { timers: 0, isOverdue: false, isInNeed: false }

export class Allotment {
  readonly #room: Room
  readonly #tenants: Tenants
  readonly #horizons: Horizons

  constructor(room: Room, tenants: Tenants, horizons: Horizons) {
    this.#room = room
    this.#tenants = tenants
    this.#horizons = horizons
  }

  /** Timers that are due within this time should be in memory. */
  get urgentMs(): number {
    return Math.min(longestUrgentMs, this.#room.limits.lookAheadMs / 2)
  }

  /** Timers beyond the main horizon may come due before the next look. */
  isBehind(nowMs: number): boolean {
    return this.#horizons.main.cursor.fireAt < nowMs + this.urgentMs
  }

  /** Due timers may be missing. */
  isOverdue(horizon: Horizon, nowMs: number): boolean {
    return !horizon.covers(endOf(nowMs))
  }

  /**
   * Whether this due timer is one of many of its namespace. A namespace is excluded when its due timers are taken. Until then,
   * the next page could be full of its backlog, too.
   */
  mayBeBacklog(next: Entry | undefined): boolean {
    if (next === undefined) return false
    const { namespace } = next.timer
    if (this.#horizons.isExcluded(namespace)) return false
    return this.#tenants.atRestOf(namespace) > this.#room.limits.page / 2
  }

  /** How much of the room reserved for excluded namespaces they do not use. Below 0 if they have more. */
  get reserveFree(): number {
    let free = this.#reservedTimers
    for (const namespace of this.#horizons.excludedNamespaces) free -= this.#tenants.atRestOf(namespace)
    return free
  }

  /** How much of the room that is not reserved for excluded namespaces is free. */
  get mainPartFree(): number {
    return Math.floor(this.#room.capacity - this.#room.timersAtRest - this.reserveFree)
  }

  /**
   * The size of the next page: a full page, or at least a good part of it. Less only if due timers may lie beyond. 0 if
   * there is not enough room.
   */
  forPage(nowMs: number): number {
    const { main } = this.#horizons
    const { page } = this.#room.limits
    const free = Math.min(page, this.#room.free(main.nextBytes))
    if (this.isOverdue(main, nowMs)) return Math.max(0, free)
    const timers = Math.min(free, this.mainPartFree)
    return timers >= (this.isBehind(nowMs) ? 1 : Math.ceil(page / 4)) ? timers : 0
  }

  /** The room that an excluded namespace gets. `isDueTaken`: the timers in memory that are due have been taken. */
  claimOf(namespace: string, horizon: Horizon, nowMs: number, isDueTaken: boolean): Claim {
    const isOverdue = isDueTaken && this.isOverdue(horizon, nowMs)
    const isBehind = this.isBehind(nowMs)
    if (isBehind && !isOverdue) return noClaim
    // If due timers are missing, only due timers count here: timers that are due later must not block them.
    const held = isOverdue ? this.#tenants.dueOf(namespace) : this.#tenants.entriesOf(namespace)
    const share = this.#excludedShare
    if (held > share / 2) return noClaim
    const isInNeed = isOverdue && held === 0
    const timers = Math.min(this.#room.limits.page, share - held)
    if (!isBehind) return { timers, isOverdue, isInNeed }
    // While the other namespaces are behind, free room is theirs, except for the reserve. A namespace in need gets one.
    const kept = this.isOverdue(this.#horizons.main, nowMs) ? 0 : Math.floor(this.reserveFree)
    return { timers: Math.min(timers, Math.max(kept, isInNeed ? 1 : 0)), isOverdue, isInNeed }
  }

  /** While half the window is free, a namespace may exceed its share, because some of its hosts may be healthy. */
  isOverItsShare(namespace: string): boolean {
    if (!this.#room.isHalfFull || !this.#horizons.isExcluded(namespace)) return false
    return this.#tenants.entriesOf(namespace) >= this.#excludedShare
  }

  /** While any namespace is excluded, a quarter of the room is reserved: future timers must not crowd out due ones. */
  get #reservedTimers(): number {
    return this.#horizons.excludedCount === 0 ? 0 : this.#room.capacity / 4
  }

  /** How many timers of an excluded namespace are read: two pages, or less if there are many excluded namespaces. */
  get #excludedShare(): number {
    const { page, timers } = this.#room.limits
    const each = Math.max(16, Math.floor(timers / 2 / Math.max(1, this.#horizons.excludedCount)))
    return Math.max(1, Math.min(2 * page, each, Math.floor(this.#room.capacity / 2)))
  }
}
