// Who may have how much of a window's room: what is due before what is not, and of what is due some for everyone.
// Only reckons; the window reads, and lets go.
import { endOf } from "../../domain/DueOrder.ts"
import type { Horizon, Horizons } from "./Horizons.ts"
import type { Room } from "./Room.ts"
import type { Tenants } from "./Tenants.ts"

/** Longer than the loops of a shard sleep. */
const longestUrgentMs = 2_000

/** What an excluded namespace is to be given. */
export interface Claim {
  /** How many timers, if there is room. */
  readonly timers: number
  /** Something due of it is missing: room is made. */
  readonly isOverdue: boolean
  /** Nothing due of it is in memory, either. */
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

  /** What is due within this time is in memory, or should be. */
  get urgentMs(): number {
    return Math.min(longestUrgentMs, this.#room.limits.lookAheadMs / 2)
  }

  /** What the main horizon does not cover may come due before anyone looks again. */
  isBehind(nowMs: number): boolean {
    return this.#horizons.main.cursor.fireAt < nowMs + this.urgentMs
  }

  /** Something due may be missing. */
  isOverdue(horizon: Horizon, nowMs: number): boolean {
    return !horizon.covers(endOf(nowMs))
  }

  /** How much of what is kept for excluded namespaces they do not use; less than 0 if they have more. */
  get reserveFree(): number {
    let free = this.#reservedTimers
    for (const namespace of this.#horizons.excludedNamespaces) free -= this.#tenants.atRestOf(namespace)
    return free
  }

  /** How much of what is not kept for excluded namespaces is not taken by the others. */
  get mainPartFree(): number {
    return Math.floor(this.#room.capacity - this.#room.timersAtRest - this.reserveFree)
  }

  /** A page's worth, or a good part of it; less only if what is due may lie beyond; 0 if that is not to be had. */
  forPage(nowMs: number): number {
    const { main } = this.#horizons
    const { page } = this.#room.limits
    const free = Math.min(page, this.#room.free(main.nextBytes))
    if (this.isOverdue(main, nowMs)) return Math.max(0, free)
    const timers = Math.min(free, this.mainPartFree)
    return timers >= (this.isBehind(nowMs) ? 1 : Math.ceil(page / 4)) ? timers : 0
  }

  /** What an excluded namespace is to be given, now that what is due here has been taken, or has not. */
  claimOf(namespace: string, horizon: Horizon, nowMs: number, isDueTaken: boolean): Claim {
    const isOverdue = isDueTaken && this.isOverdue(horizon, nowMs)
    const isBehind = this.isBehind(nowMs)
    if (isBehind && !isOverdue) return noClaim
    // What is due later does not stand in the way of what is due.
    const held = isOverdue ? this.#tenants.dueOf(namespace) : this.#tenants.entriesOf(namespace)
    const share = this.#excludedShare
    if (held > share / 2) return noClaim
    const isInNeed = isOverdue && held === 0
    const timers = Math.min(this.#room.limits.page, share - held)
    if (!isBehind) return { timers, isOverdue, isInNeed }
    // While the others are behind, what is free is theirs, but for what is kept; and one for who has none.
    const kept = this.isOverdue(this.#horizons.main, nowMs) ? 0 : Math.floor(this.reserveFree)
    return { timers: Math.min(timers, Math.max(kept, isInNeed ? 1 : 0)), isOverdue, isInNeed }
  }

  /** While half the window is free it may hold more than its share: some of its hosts may be well. */
  isOverItsShare(namespace: string): boolean {
    if (!this.#room.isHalfFull || !this.#horizons.isExcluded(namespace)) return false
    return this.#tenants.entriesOf(namespace) >= this.#excludedShare
  }

  /** While a namespace is excluded a quarter is kept for it: what lies ahead must not crowd out what is due. */
  get #reservedTimers(): number {
    return this.#horizons.excludedCount === 0 ? 0 : this.#room.capacity / 4
  }

  /** How many timers an excluded namespace is read up to: two pages, less if there are many of them. */
  get #excludedShare(): number {
    const { page, timers } = this.#room.limits
    const each = Math.max(16, Math.floor(timers / 2 / Math.max(1, this.#horizons.excludedCount)))
    return Math.max(1, Math.min(2 * page, each, Math.floor(this.#room.capacity / 2)))
  }
}
