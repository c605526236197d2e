// The timers of one shard that are in memory, and the cursor (horizon) up to which that is all of them:
//
//   every pending timer of the shard at or below the horizon is in an entry here (waiting, ready, in
//   flight …), or belongs to a namespace that is excluded and has a horizon of its own.
//
// The races that would lose or repeat timers are all between writes, whose answers arrive here in
// queue order, and reads of the store, which take their time:
//  - an offer that arrives while a read runs waits, and is judged against the horizon the read leaves:
//    committed after the read's snapshot and judged before, it would be in neither;
//  - a read remembers the keys written since it began and drops its rows for them: a page read before a
//    cancel or a settle would fire the timer again;
//  - a key with a change in the queue is held: its attempt does not start until that is answered;
//  - a full window does not load: it would let go of what it loaded, for ever.
//
// Nothing here waits or reads a clock. A namespace whose due timers pile up (a slow endpoint, an open
// breaker) is excluded: it is read through its own horizon as it gets room, so that its backlog,
// however large, does not stand in the way of others.
import { type Cursor, compareDue, endOf } from "../domain/DueOrder.ts"
import type { Timer, TimerHead, Uuid } from "../domain/Timer.ts"
import { DueHeap } from "./DueHeap.ts"
import { Entry, type Home } from "./Entry.ts"
import { type Horizon, Horizons } from "./Horizons.ts"
import { QueuedWrites } from "./QueuedWrites.ts"
import { Tenants } from "./Tenants.ts"

export interface WindowLimits {
  readonly timers: number
  readonly bytes: number
  /** How many rows one read asks for. */
  readonly page: number
  readonly lookAheadMs: number
}

/** Longer than the loops of a shard sleep. */
const urgentMs = 2_000

export interface WindowEvents {
  /** A ready entry is ready no more: the dispatcher must let go of it. */
  withdraw(entry: Entry): void
  /** Something is due earlier than all before it. */
  wake(): void
}

/** A read under way: the keys written since it began. */
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
  private readonly entries = new Map<Uuid, Entry>()
  private readonly heap = new DueHeap<Entry>()
  private readonly horizons = new Horizons()
  private readonly tenants = new Tenants()
  private readonly queued = new QueuedWrites()
  private readonly reads = new Set<Read>()
  private readonly home: Home
  private readonly events: WindowEvents
  private limits: WindowLimits
  private bytesHeld = 0
  private flying = 0
  private bytesFlying = 0
  private begun = 0
  private isShortOfRoom = false

  constructor(home: Home, limits: WindowLimits, events: WindowEvents) {
    this.home = home
    this.limits = fitting(limits)
    this.events = events
  }

  get size(): number {
    return this.entries.size
  }

  get bytes(): number {
    return this.bytesHeld
  }

  /** Attempts that began and whose outcome is not stored yet, those of keys that have moved on included. */
  get unsettled(): number {
    return this.begun
  }

  get horizon(): Cursor {
    return this.horizons.main.cursor
  }

  /** Up to where the timers of a namespace are all here. */
  horizonFor(namespace: string): Cursor {
    return this.horizons.of(namespace).cursor
  }

  get excludedNamespaces(): ReadonlyArray<string> {
    return this.horizons.excludedNamespaces
  }

  /** Room that becomes free would be read into at once. */
  get wantsRoom(): boolean {
    return this.isShortOfRoom || this.horizons.excludedCount > 0
  }

  entryOf(uuid: Uuid): Entry | undefined {
    return this.entries.get(uuid)
  }

  /** When the earliest waiting timer is due. */
  get nextFireAt(): number | undefined {
    return this.heap.peek()?.fireAt
  }

  /** The due time of the earliest timer that has not been settled, if it has passed. */
  oldestDue(nowMs: number): number | undefined {
    let oldest: number | undefined
    for (const entry of this.entries.values()) {
      if (entry.fireAt <= nowMs && (oldest === undefined || entry.fireAt < oldest)) oldest = entry.fireAt
    }
    return oldest
  }

  /** Shares of the node's bound change as shards come and go. */
  resize(limits: WindowLimits): void {
    this.limits = fitting(limits)
    this.enforceBounds()
  }

  // ── Writes: what their answers do ─────────────────────────────────────────────────────────────

  /** A write of the key is queued. One that may move or end the timer holds it back until it is answered. */
  expectAnswer(write: object, uuid: Uuid, holdsBack: boolean): void {
    this.queued.add(write, uuid, holdsBack)
  }

  /** To be called once for each `expectAnswer`, after what the answer did. */
  noteAnswer(write: object, uuid: Uuid): void {
    if (!this.queued.remove(write, uuid)) return
    const entry = this.entries.get(uuid)
    if (entry?.state !== "held") return
    this.tenants.addDue(entry.timer.namespace, -1)
    this.wait(entry)
  }

  writesQueuedOf(uuid: Uuid): number {
    return this.queued.of(uuid)
  }

  isHeld(uuid: Uuid): boolean {
    return this.queued.isHeld(uuid)
  }

  /** The key was written: rows of reads that began before are void. */
  touch(uuid: Uuid): void {
    for (const read of this.reads) read.dirty.add(uuid)
  }

  /** What is pending under its key now, by a write that was answered. */
  offer(timer: Timer): void {
    // An earlier offer of the key that still waits for a read is void.
    this.horizons.stopWaiting(timer.uuid)
    const existing = this.entries.get(timer.uuid)
    if (existing !== undefined) {
      if (isSameArming(existing.timer, timer)) return
      this.drop(existing)
    }
    const horizon = this.horizons.of(timer.namespace)
    if (!horizon.covers(timer)) {
      horizon.waiting?.set(timer.uuid, timer)
    } else if (this.isOverItsShare(timer.namespace)) {
      // A backlog grows in the store, not here: its own horizon ends before what it has no room for, and a
      // read that would move it is void.
      horizon.pullBack(endOf(timer.fireAt - 1))
    } else {
      this.insert(timer)
      this.enforceBounds()
    }
  }

  /** Nothing is pending under the key any more. */
  forget(uuid: Uuid): void {
    const existing = this.entries.get(uuid)
    if (existing !== undefined) this.drop(existing)
    this.horizons.stopWaiting(uuid)
  }

  /** The shard is given up: nothing of it may start any more. */
  clear(): void {
    for (const entry of [...this.entries.values()]) this.drop(entry)
  }

  // ── Firing ────────────────────────────────────────────────────────────────────────────────────

  /** Takes what is due, at most `limit`, in due order; held keys stay behind. */
  takeDue(nowMs: number, limit: number): Array<Entry> {
    const due: Array<Entry> = []
    while (due.length < limit) {
      const entry = this.heap.peek()
      if (entry === undefined || entry.fireAt > nowMs) break
      this.heap.remove(entry)
      const { namespace } = entry.timer
      this.tenants.addDue(namespace, 1)
      if (this.isHeld(entry.uuid)) {
        entry.state = "held"
      } else {
        entry.state = "ready"
        due.push(entry)
      }
      if (this.tenants.dueOf(namespace) > this.limits.page) this.horizons.exclude(namespace)
    }
    return due
  }

  /** A change was queued after the entry became ready: it goes back, until that is answered. */
  holdBack(entry: Entry): void {
    entry.state = "held"
  }

  /** The lease is not to be trusted now: it goes back and comes due again. */
  putBack(entry: Entry): void {
    this.tenants.addDue(entry.timer.namespace, -1)
    this.wait(entry)
  }

  /** Its attempt starts now. */
  start(entry: Entry): void {
    this.tenants.addDue(entry.timer.namespace, -1)
    entry.state = "inFlight"
    this.begun++
    this.flying++
    this.bytesFlying += entry.bytes
  }

  /** To be called once for each `start`, when the outcome is stored, or no longer can be. */
  noteStored(): void {
    this.begun--
  }

  // ── Reads ─────────────────────────────────────────────────────────────────────────────────────

  beginRead(): Read {
    const read: Read = { dirty: new Set() }
    this.reads.add(read)
    return read
  }

  endRead(read: Read): void {
    this.reads.delete(read)
  }

  /** What the horizon does not cover may come due before anyone looks again. */
  isBehind(nowMs: number): boolean {
    return this.horizon.fireAt < nowMs + Math.min(urgentMs, this.limits.lookAheadMs / 2)
  }

  /** The next page of the main horizon, if it is near and there is room. */
  beginLoad(nowMs: number): Load | undefined {
    const { main } = this.horizons
    if (main.isBeingRead) return undefined
    // Half the look-ahead is the trigger, all of it the reach: else each millisecond would load one more.
    if (main.cursor.fireAt >= nowMs + this.limits.lookAheadMs / 2) return undefined
    const isBehind = this.isBehind(nowMs)
    let limit = this.roomForPage(isBehind)
    while (limit === 0 && isBehind && this.relieve()) limit = this.roomForPage(isBehind)
    this.isShortOfRoom = limit === 0
    if (this.isShortOfRoom) return undefined
    return this.startLoad(main, nowMs + this.limits.lookAheadMs, limit, {
      except: this.excludedNamespaces,
    })
  }

  /** The next page of an excluded namespace that has drained, if any. */
  beginNamespaceLoad(): Load | undefined {
    const share = this.excludedShare
    const room = Math.min(this.limits.page, this.roomForTimers())
    if (room <= 0) return undefined
    const next = this.horizons.nextLagging((namespace) => this.tenants.entriesOf(namespace) <= share / 2)
    if (next === undefined) return undefined
    const { namespace, horizon } = next
    const limit = Math.min(room, share - this.tenants.entriesOf(namespace))
    return this.startLoad(horizon, this.horizon.fireAt, limit, { only: namespace })
  }

  /** Adds a page and moves its horizon, unless that was pulled back meanwhile. */
  finishLoad(load: Load, rows: ReadonlyArray<Timer>): void {
    this.endRead(load)
    const { horizon } = load
    const waiting = this.horizons.endRead(horizon)
    const isCurrent = load.only === undefined || this.horizons.of(load.only) === horizon
    if (!isCurrent || compareDue(horizon.cursor, load.exclusiveAfter) !== 0) return
    const last = rows.at(-1)
    horizon.cursor =
      rows.length < load.limit || last === undefined
        ? endOf(load.inclusiveUntilMs)
        : { fireAt: last.fireAt, uuid: last.uuid }
    for (const row of rows) this.admit(row, load)
    // Each is judged against the horizon its namespace has by then: an offer may make room, and that readmit.
    for (const timer of waiting) this.offer(timer)
    this.enforceBounds()
    for (const namespace of this.excludedNamespaces) this.readmitIfDrained(namespace)
  }

  /** The read failed: offers that waited for it are beyond a horizon that has not moved. */
  abandonLoad(load: Load): void {
    this.endRead(load)
    this.horizons.endRead(load.horizon)
  }

  /** Of what the store says is due, what ought to be here and is not. */
  missing(heads: ReadonlyArray<TimerHead>, read: Read): Array<TimerHead> {
    return heads.filter(
      (head) =>
        !read.dirty.has(head.uuid) &&
        !this.entries.has(head.uuid) &&
        // What is being written need not be here yet: its answer decides.
        this.queued.of(head.uuid) === 0 &&
        !this.horizons.isExcluded(head.namespace) &&
        this.horizons.main.covers(head),
    )
  }

  /** A timer read by its key: entered wherever the horizon lies, unless it was written meanwhile. */
  rescue(timer: Timer, read: Read): boolean {
    if (read.dirty.has(timer.uuid) || this.entries.has(timer.uuid)) return false
    this.insert(timer)
    return true
  }

  // ── Within ────────────────────────────────────────────────────────────────────────────────────

  private startLoad(
    horizon: Horizon,
    inclusiveUntilMs: number,
    limit: number,
    of: { readonly only?: string; readonly except?: ReadonlyArray<string> },
  ): Load {
    this.horizons.beginRead(horizon)
    const load: Load = {
      dirty: new Set(),
      horizon,
      exclusiveAfter: horizon.cursor,
      inclusiveUntilMs,
      limit,
      ...of,
    }
    this.reads.add(load)
    return load
  }

  private admit(row: Timer, load: Load): void {
    if (load.dirty.has(row.uuid) || this.entries.has(row.uuid)) return
    if (this.horizons.of(row.namespace) === load.horizon) this.insert(row)
  }

  private insert(timer: Timer): void {
    const entry = new Entry(timer, this.home)
    this.entries.set(timer.uuid, entry)
    this.bytesHeld += entry.bytes
    this.tenants.addEntry(timer.namespace)
    this.wait(entry)
  }

  private wait(entry: Entry): void {
    entry.state = "waiting"
    this.heap.push(entry)
    if (this.heap.peek() === entry) this.events.wake()
  }

  /** Takes an entry out, wherever it stands. An attempt that runs goes on, superseded. */
  private drop(entry: Entry): void {
    const { namespace } = entry.timer
    if (entry.state === "waiting") this.heap.remove(entry)
    else if (entry.state === "ready" || entry.state === "held") this.tenants.addDue(namespace, -1)
    else this.supersede(entry)
    if (entry.state === "ready") this.events.withdraw(entry)
    this.entries.delete(entry.uuid)
    this.bytesHeld -= entry.bytes
    this.tenants.removeEntry(namespace)
    this.readmitIfDrained(namespace)
  }

  private supersede(entry: Entry): void {
    entry.isSuperseded = true
    this.flying--
    this.bytesFlying -= entry.bytes
  }

  /** What waits here or is ready. Attempts under way have a bound of their own, and must not keep others out. */
  private get timersAtRest(): number {
    return this.entries.size - this.flying
  }

  private get bytesAtRest(): number {
    return this.bytesHeld - this.bytesFlying
  }

  /** How many timers still fit, by count and by bytes at their present average. */
  private roomForTimers(): number {
    const averageBytes = this.entries.size === 0 ? 600 : this.bytesHeld / this.entries.size
    const { timers, bytes } = this.limits
    return Math.floor(Math.min(timers - this.timersAtRest, (bytes - this.bytesAtRest) / averageBytes))
  }

  /** A page's worth, or a good part of it; less only if what is due may lie beyond; 0 if that is not to be had. */
  private roomForPage(isBehind: boolean): number {
    // While a namespace is excluded a quarter is kept free for it: what lies ahead must not crowd out
    // what is due.
    const reserved = this.horizons.excludedCount === 0 ? 0 : this.limits.timers / 4
    const room = Math.min(this.limits.page, Math.floor(this.roomForTimers() - reserved))
    return room >= (isBehind ? 1 : Math.ceil(this.limits.page / 4)) ? room : 0
  }

  /** How many timers an excluded namespace is read up to: two pages, less if there are many of them. */
  private get excludedShare(): number {
    const { page, timers } = this.limits
    return Math.min(2 * page, Math.max(16, Math.floor(timers / 2 / Math.max(1, this.horizons.excludedCount))))
  }

  /** While half the window is free it may hold more than its share: some of its hosts may be well. */
  private isOverItsShare(namespace: string): boolean {
    const { timers, bytes } = this.limits
    const isCrowded = this.timersAtRest >= timers / 2 || this.bytesAtRest >= bytes / 2
    if (!isCrowded || !this.horizons.isExcluded(namespace)) return false
    return this.tenants.entriesOf(namespace) >= this.excludedShare
  }

  private readmitIfDrained(namespace: string): void {
    if (this.tenants.dueOf(namespace) <= this.limits.page / 2) this.horizons.readmit(namespace)
  }

  /** The window is full and behind: the namespace with the most due timers gives half of its room back. */
  private relieve(): boolean {
    const namespace = this.tenants.mostDue()
    if (namespace === undefined) return false
    this.horizons.exclude(namespace)
    const removable = [...this.entries.values()]
      .filter((entry) => entry.timer.namespace === namespace && isRemovable(entry))
      .sort(compareDue)
    this.letGo(removable, Math.floor(removable.length / 2))
    return true
  }

  /** Past the bound the farthest are let go, an eighth at a time, and horizons pulled back. */
  private enforceBounds(): void {
    if (this.timersAtRest <= this.limits.timers && this.bytesAtRest <= this.limits.bytes) return
    const waiting = [...this.heap.values()].sort(compareDue)
    const keptTimers = this.limits.timers - Math.ceil(this.limits.timers / 8)
    const keptBytes = this.limits.bytes - Math.ceil(this.limits.bytes / 8)
    let timers = this.timersAtRest
    let bytes = this.bytesAtRest
    let first = waiting.length
    while (first > 0 && (timers > keptTimers || bytes > keptBytes)) {
      first--
      timers--
      bytes -= waiting[first]?.bytes ?? 0
    }
    this.letGo(waiting, first)
  }

  /** Of entries in due order, lets go of those from `first` on; their horizons end at the last one kept. */
  private letGo(entries: ReadonlyArray<Entry>, first: number): void {
    const dropped = entries.slice(first)
    const firstDropped = dropped[0]
    if (firstDropped === undefined) return
    const lastKept = entries[first - 1] ?? endOf(firstDropped.fireAt - 1)
    const end: Cursor = { fireAt: lastKept.fireAt, uuid: lastKept.uuid }
    for (const { timer } of dropped) this.horizons.of(timer.namespace).pullBack(end)
    for (const entry of dropped) this.drop(entry)
    this.isShortOfRoom = true
  }
}

/** A page is a small part of the window, whatever was set: else a share of many shards could never load one. */
const fitting = (limits: WindowLimits): WindowLimits => ({
  ...limits,
  page: Math.max(1, Math.min(limits.page, Math.floor(limits.timers / 4))),
})

const isRemovable = (entry: Entry): boolean =>
  entry.state === "waiting" || entry.state === "ready" || entry.state === "held"

const isSameArming = (a: Timer, b: Timer): boolean =>
  a.fireId === b.fireId && a.attempts === b.attempts && a.fireAt === b.fireAt
