// The timers of one shard that are in memory, and the cursor (horizon) up to which they are complete:
//
//   every pending timer of the shard at or below the horizon is in an entry here (waiting, ready, in flight …), or
//   belongs to an excluded namespace with its own horizon, or cannot be read (SetAside.ts).
//
// Timers could be lost or repeated by races between writes, whose answers arrive here in queue order, and slow reads of
// the store. The rules against them:
//  - An offer that arrives during a read waits, and is compared with the horizon after the read. Compared with
//    the old horizon, an offer that was committed after the read's snapshot would be lost: in no page, and not here.
//  - A read remembers the keys written since it began, and drops its rows for them. Otherwise a page read before a
//    cancel or a settle would fire the timer again.
//  - A key with a queued change is held: its attempt does not start until the change is answered.
//  - A full window does not load. Otherwise it would evict what it loaded, without end.
//
// Evictions.ts decides which timers stay when there is no room.
//
// Nothing here waits or reads a clock. A namespace whose due timers pile up (a slow endpoint, an open breaker) is
// excluded. It is read through its own horizon when it gets room, so that its backlog, however large, does not block
// other namespaces.
import { type Cursor, compareDue, endOf } from "../../domain/DueOrder.ts"
import { isReadable, type Timer, type TimerHead, timerBytes, type Uuid } from "../../domain/Timer.ts"
import type { DuePage } from "../../ports/TimerStore.ts"
import { QueuedWrites } from "../writing/QueuedWrites.ts"
import { Allotment } from "./Allotment.ts"
import { Entry, type Home } from "./Entry.ts"
import { Evictions } from "./Evictions.ts"
import { type Horizon, Horizons } from "./Horizons.ts"
import { Room, type WindowLimits } from "./Room.ts"
import { Tenants } from "./Tenants.ts"
import { WaitingTimers } from "./WaitingTimers.ts"

export type { WindowLimits } from "./Room.ts"

export interface WindowEvents {
  /** The entry is no longer ready, and the dispatcher must drop it. */
  withdraw(entry: Entry): void
  /** A new timer is due earlier than all others. */
  wake(): void
  /** Whether an endpoint of the namespace has taken an attempt. */
  isKnown(namespace: string): boolean
}

/** A running read, and the keys written since it began. */
export interface Read {
  readonly dirty: Set<Uuid>
}

/** A read that moves a horizon. */
export interface Load extends Read {
  readonly horizon: Horizon
  readonly exclusiveAfter: Cursor
  readonly inclusiveUntilMs: number
  readonly limit: number
  readonly only?: string
  readonly except?: ReadonlyArray<string>
}

export class Window {
  readonly #entries = new Map<Uuid, Entry>()
  readonly #waiting: WaitingTimers
  /** The entries that do not wait for their time any more. */
  readonly #taken = new Set<Entry>()
  readonly #horizons = new Horizons()
  readonly #tenants = new Tenants()
  readonly #queued = new QueuedWrites()
  readonly #reads = new Set<Read>()
  readonly #home: Home
  readonly #events: WindowEvents
  readonly #room: Room
  readonly #allotment: Allotment
  readonly #evictions: Evictions
  #begun = 0

  constructor(home: Home, limits: WindowLimits, events: WindowEvents) {
    this.#home = home
    this.#waiting = new WaitingTimers(events.isKnown)
    this.#room = new Room(limits)
    this.#allotment = new Allotment(this.#room, this.#tenants, this.#horizons)
    this.#evictions = new Evictions({
      entries: this.#entries,
      waiting: this.#waiting,
      horizons: this.#horizons,
      tenants: this.#tenants,
      room: this.#room,
      allotment: this.#allotment,
      drop: (entry) => this.#drop(entry),
    })
    this.#events = events
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#room.bytes
  }

  /** Attempts that started and whose outcome is not stored yet, including superseded ones. */
  get unsettled(): number {
    return this.#begun
  }

  get horizon(): Cursor {
    return this.#horizons.main.cursor
  }

  /** The cursor up to which all timers of a namespace are here. */
  horizonFor(namespace: string): Cursor {
    return this.#horizons.of(namespace).cursor
  }

  get excludedNamespaces(): ReadonlyArray<string> {
    return this.#horizons.excludedNamespaces
  }

  /** Whether the namespace has so many due timers that it is read through its own horizon. */
  excludes(namespace: string): boolean {
    return this.#horizons.isExcluded(namespace)
  }

  /** Whether room that becomes free would be filled at once. */
  get wantsRoom(): boolean {
    return this.#evictions.isShortOfRoom || this.#horizons.excludedCount > 0
  }

  entryOf(uuid: Uuid): Entry | undefined {
    return this.#entries.get(uuid)
  }

  /** When the earliest waiting timer is due. */
  get nextFireAt(): number | undefined {
    return this.#waiting.peek()?.fireAt
  }

  /** How many timers are due but not started. */
  get due(): number {
    return this.#tenants.due
  }

  /** Up to this instant all pending timers are here. Beyond it, only the store knows. */
  get knownUntilMs(): number {
    return this.#horizons.nearestMs
  }

  /** Whether all due timers are here. An excluded namespace that has due timers here may have more in the store. */
  hasAllDue(nowMs: number): boolean {
    const end = endOf(nowMs)
    if (!this.#horizons.main.covers(end)) return false
    if (this.#horizons.nearestMs > nowMs) return true
    return this.excludedNamespaces.every(
      (namespace) => this.#horizons.of(namespace).covers(end) || this.#tenants.dueOf(namespace) > 0,
    )
  }

  /** The due time of the earliest unsettled timer, if it has passed. */
  oldestDue(nowMs: number): number | undefined {
    let oldest = this.nextFireAt ?? Number.POSITIVE_INFINITY
    for (const { fireAt } of this.#taken) oldest = Math.min(oldest, fireAt)
    return oldest <= nowMs ? oldest : undefined
  }

  /** Changes the limits, because shares of the node's limits change as shards come and go. */
  resize(limits: WindowLimits): void {
    this.#room.resize(limits)
    this.#evictions.enforceBounds()
  }

  // ── Writes: what their answers do ─────────────────────────────────────────────────────────────

  /** A write of the key is queued. If it may move or end the timer, the timer is held until the answer. */
  expectAnswer(write: object, uuid: Uuid, holdsBack: boolean): void {
    this.#queued.add(write, uuid, holdsBack)
  }

  /** Must be called once for each `expectAnswer`, after the answer was applied. */
  noteAnswer(write: object, uuid: Uuid): void {
    if (!this.#queued.remove(write, uuid)) return
    const entry = this.#entries.get(uuid)
    if (entry?.state !== "held") return
    this.#tenants.addDue(entry.timer.namespace, -1)
    this.#wait(entry)
  }

  writesQueuedOf(uuid: Uuid): number {
    return this.#queued.of(uuid)
  }

  isHeld(uuid: Uuid): boolean {
    return this.#queued.isHeld(uuid)
  }

  /** The key was written, so the rows of earlier reads for it are void. */
  touch(uuid: Uuid): void {
    for (const read of this.#reads) read.dirty.add(uuid)
  }

  /** An answered write shows that this timer is pending now. */
  offer(timer: Timer): void {
    // An earlier offer of the key that waits for a read is void.
    this.#horizons.stopWaiting(timer.uuid)
    const existing = this.#entries.get(timer.uuid)
    if (existing !== undefined) {
      if (existing.isArmingOf(timer)) return
      this.#drop(existing)
    }
    const horizon = this.#horizons.of(timer.namespace)
    if (!horizon.covers(timer)) {
      horizon.waiting?.set(timer.uuid, timer)
    } else if (this.#allotment.isOverItsShare(timer.namespace)) {
      // A backlog grows in the store, not here. Its own horizon ends before the first timer that has no room, and a
      // running read that would move the horizon is void.
      horizon.endBefore(timer, timerBytes(timer))
    } else {
      this.#insert(timer)
      this.#evictions.enforceBounds()
    }
  }

  /** Nothing is pending under the key any more. */
  forget(uuid: Uuid): void {
    const existing = this.#entries.get(uuid)
    if (existing !== undefined) this.#drop(existing)
    this.#horizons.stopWaiting(uuid)
  }

  /** The shard is given up, and none of its timers may start any more. */
  clear(): void {
    for (const entry of [...this.#entries.values()]) this.#drop(entry)
  }

  // ── Firing ────────────────────────────────────────────────────────────────────────────────────

  /** Takes at most `limit` due timers of known namespaces and then `newLimit` of new ones, in due order. Held keys stay. */
  takeDue(nowMs: number, limit: number, newLimit = limit): Array<Entry> {
    const due: Array<Entry> = []
    for (const entry of this.#waiting.takeDue(nowMs, limit, newLimit)) {
      this.#taken.add(entry)
      const { namespace } = entry.timer
      this.#tenants.addDue(namespace, 1)
      if (this.isHeld(entry.uuid)) {
        entry.state = "held"
      } else {
        entry.state = "ready"
        due.push(entry)
      }
      if (this.#tenants.dueOf(namespace) > this.#room.limits.page) this.#horizons.exclude(namespace)
    }
    return due
  }

  /** A change was queued after the entry became ready. The entry waits for its answer. */
  holdBack(entry: Entry): void {
    entry.state = "held"
  }

  /** The lease cannot be trusted now, or the clock was set back. The entry waits and becomes due again. */
  putBack(entry: Entry): void {
    this.#tenants.addDue(entry.timer.namespace, -1)
    this.#wait(entry)
  }

  /** The attempt of the entry starts now. */
  start(entry: Entry): void {
    this.#tenants.takeOff(entry.timer.namespace)
    this.#room.takeOff(entry)
    entry.state = "inFlight"
    this.#begun++
  }

  /** The attempt ended without an outcome. The entry is ready again; `noteStored` must follow as usual. */
  takeBack(entry: Entry): void {
    this.#room.land(entry)
    this.#tenants.land(entry.timer.namespace)
    this.#tenants.addDue(entry.timer.namespace, 1)
    entry.state = "ready"
    entry.startedAt = undefined
  }

  /** Must be called once for each `start`, when the outcome is stored or can no longer be stored. */
  noteStored(): void {
    this.#begun--
  }

  // ── Reads ─────────────────────────────────────────────────────────────────────────────────────

  beginRead(): Read {
    const read: Read = { dirty: new Set() }
    this.#reads.add(read)
    return read
  }

  endRead(read: Read): void {
    this.#reads.delete(read)
  }

  /** Timers beyond the horizon may come due before the next look. */
  isBehind(nowMs: number): boolean {
    return this.#allotment.isBehind(nowMs)
  }

  /** Begins to load the next page of the main horizon, if it is needed soon and there is room. */
  beginLoad(nowMs: number): Load | undefined {
    const { main } = this.#horizons
    if (main.isBeingRead) return undefined
    const { lookAheadMs } = this.#room.limits
    // A load starts at half the look-ahead and reads all of it. Otherwise each millisecond would load one more timer.
    if (main.cursor.fireAt >= nowMs + lookAheadMs / 2) return undefined
    if (this.#allotment.isOverdue(main, nowMs) && this.#allotment.mayBeBacklog(this.#waiting.nextDue(nowMs)))
      return undefined
    let limit = this.#allotment.forPage(nowMs)
    while (limit === 0 && this.#evictions.makeRoomForMain(nowMs)) limit = this.#allotment.forPage(nowMs)
    this.#evictions.isShortOfRoom = limit === 0
    if (limit === 0) return undefined
    return this.#startLoad(main, nowMs + lookAheadMs, limit, { except: this.excludedNamespaces })
  }

  /** Begins to load the next page of an excluded namespace that needs one, if any. */
  beginNamespaceLoad(nowMs: number): Load | undefined {
    const isDueTaken = this.#waiting.nextDue(nowMs) === undefined
    for (const { namespace, horizon } of this.#horizons.lagging()) {
      const claim = this.#allotment.claimOf(namespace, horizon, nowMs, isDueTaken)
      if (claim.timers <= 0) continue
      const free = claim.isOverdue
        ? this.#evictions.makeRoomFor(horizon, claim.isInNeed, nowMs)
        : this.#room.free(horizon.nextBytes)
      const limit = Math.min(claim.timers, free)
      if (limit <= 0) continue
      this.#horizons.endTurn(namespace)
      return this.#startLoad(horizon, this.horizon.fireAt, limit, { only: namespace })
    }
    return undefined
  }

  /** Adds a page and moves its horizon, unless the horizon was pulled back meanwhile. */
  finishLoad(load: Load, { timers, isLast }: DuePage): void {
    this.endRead(load)
    const { horizon } = load
    const waiting = this.#horizons.endRead(horizon)
    const isCurrent = load.only === undefined || this.#horizons.of(load.only) === horizon
    if (!isCurrent || compareDue(horizon.cursor, load.exclusiveAfter) !== 0) return
    const last = timers.at(-1)
    horizon.advance(
      isLast || last === undefined
        ? endOf(load.inclusiveUntilMs)
        : { fireAt: last.fireAt, fireId: last.fireId },
    )
    for (const row of timers) this.#admit(row, load)
    // Each offer is compared with the current horizon of its namespace, because an earlier offer may evict timers or
    // readmit a namespace.
    for (const timer of waiting) this.offer(timer)
    this.#evictions.fitIn(horizon)
    for (const namespace of this.excludedNamespaces) this.#readmitIfDrained(namespace)
  }

  /** The read failed. The offers that waited for it lie beyond a horizon that has not moved. */
  abandonLoad(load: Load): void {
    this.endRead(load)
    this.#horizons.endRead(load.horizon)
  }

  /** The due timers in the store that should be here but are not. */
  missing(heads: ReadonlyArray<TimerHead>, read: Read): Array<TimerHead> {
    return heads.filter(
      (head) =>
        !read.dirty.has(head.uuid) &&
        !this.#entries.has(head.uuid) &&
        // A timer with a queued write need not be here yet: the answer decides.
        this.#queued.of(head.uuid) === 0 &&
        this.#horizons.of(head.namespace).covers(head),
    )
  }

  /** Enters a timer that was read by its key, beyond the horizon or not, unless it was written meanwhile. */
  rescue(timer: Timer, read: Read): boolean {
    if (!isReadable(timer)) return false
    if (read.dirty.has(timer.uuid) || this.#entries.has(timer.uuid)) return false
    this.#insert(timer)
    return true
  }

  // ── Internals ─────────────────────────────────────────────────────────────────────────────────

  #startLoad(
    horizon: Horizon,
    inclusiveUntilMs: number,
    limit: number,
    of: { readonly only?: string; readonly except?: ReadonlyArray<string> },
  ): Load {
    this.#horizons.beginRead(horizon)
    const load: Load = {
      dirty: new Set(),
      horizon,
      exclusiveAfter: horizon.cursor,
      inclusiveUntilMs,
      limit,
      ...of,
    }
    this.#reads.add(load)
    return load
  }

  /** An unreadable row moves the horizon like any other, but gets no entry. */
  #admit(row: Timer, load: Load): void {
    if (!isReadable(row)) return
    if (load.dirty.has(row.uuid) || this.#entries.has(row.uuid)) return
    if (this.#horizons.of(row.namespace) === load.horizon) this.#insert(row)
  }

  #insert(timer: Timer): void {
    const entry = new Entry(timer, this.#home)
    this.#entries.set(timer.uuid, entry)
    this.#room.add(entry)
    this.#tenants.addEntry(timer.namespace)
    this.#wait(entry)
  }

  #wait(entry: Entry): void {
    entry.state = "waiting"
    this.#taken.delete(entry)
    this.#waiting.push(entry)
    this.#evictions.noteWaiting(entry)
    if (this.#waiting.peek() === entry) this.#events.wake()
  }

  /** Takes an entry out, in any state. A running attempt continues as superseded. */
  #drop(entry: Entry): void {
    const { namespace } = entry.timer
    if (entry.state === "waiting") this.#waiting.remove(entry)
    else if (entry.state === "ready" || entry.state === "held") this.#tenants.addDue(namespace, -1)
    else this.#supersede(entry)
    if (entry.state === "ready") this.#events.withdraw(entry)
    this.#entries.delete(entry.uuid)
    this.#taken.delete(entry)
    this.#room.remove(entry)
    this.#tenants.removeEntry(namespace)
    this.#readmitIfDrained(namespace)
  }

  #supersede(entry: Entry): void {
    entry.isSuperseded = true
    this.#room.land(entry)
    this.#tenants.land(entry.timer.namespace)
  }

  #readmitIfDrained(namespace: string): void {
    if (this.#tenants.dueOf(namespace) <= this.#room.limits.page / 2) this.#horizons.readmit(namespace)
  }
}
