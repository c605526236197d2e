// A window that the model drives as the engine does, against a store that is a plain map. Writes are queued, committed
// and answered one step at a time. Reads begin, see the store and end one step at a time. Anything may happen between
// two steps. After each step the model checks the horizon's promise.
import { expect } from "bun:test"
import { compareDue, isBefore } from "../src/domain/DueOrder.ts"
import type { Timer, TimerHead, Uuid } from "../src/domain/Timer.ts"
import { keyOf } from "../src/domain/TimerKey.ts"
import type { Entry } from "../src/engine/window/Entry.ts"
import { type Load, type Read, Window, type WindowLimits } from "../src/engine/window/Window.ts"
import type { DuePage } from "../src/ports/TimerStore.ts"
import { sampleTimer } from "./timers.ts"

export const modelLimits: WindowLimits = { timers: 8, bytes: 1 << 20, page: 3, lookAheadMs: 20 }
/** With these limits the bytes of the timers fill the window. Some timers are a few times larger than others. */
export const heavyLimits: WindowLimits = { timers: 60, bytes: 9_000, page: 3, lookAheadMs: 20 }

/** More reads than the model has timers. More than this mean an endless loop. */
const readsInARow = 60

type Write =
  | { readonly kind: "put"; readonly timer: Timer }
  | {
      readonly kind: "schedule"
      readonly timer: Timer
      readonly inFlight: string | undefined
      readonly isOutdated: boolean
      readonly cancels: boolean
    }
  | { readonly kind: "cancel"; readonly uuid: Uuid }
  | { readonly kind: "outcome"; readonly entry: Entry; readonly retryAt: number | undefined }

type Answer =
  | { readonly kind: "offer"; readonly timer: Timer }
  | { readonly kind: "forget" }
  | { readonly kind: "stale"; readonly entry: Entry }
  /** The store was not changed, and the answer does not say what it holds. */
  | { readonly kind: "ignored" }

const uuidOf = (write: Write): Uuid => {
  switch (write.kind) {
    case "put":
    case "schedule":
      return write.timer.uuid
    case "cancel":
      return write.uuid
    case "outcome":
      return write.entry.uuid
  }
}

const namespaceOf = (key: number): string => (key % 3 === 0 ? "small" : key % 5 === 0 ? "other" : "large")

/** A page ends early after a large timer, as the pages of a store do when they have enough bytes. */
const pageOf = (rows: ReadonlyArray<Timer>, limit: number): DuePage => {
  const large = rows.findIndex(({ payload }) => payload !== undefined)
  const timers = rows.slice(0, large === -1 ? limit : Math.min(limit, large + 1))
  return { timers, isLast: timers.length === rows.length }
}

const armingOf = ({ fireId, attempts }: Timer): string => `${fireId}/${attempts}`

export class WindowModel {
  nowMs = 0
  readonly window: Window
  /** Armings whose attempt started, in order. */
  readonly fired: Array<string> = []
  readonly #limits: WindowLimits
  readonly #store = new Map<Uuid, Timer>()
  /** Every key that was ever used. */
  readonly #used = new Set<Uuid>()
  readonly #ready = new Set<Entry>()
  readonly #flying: Array<Entry> = []
  readonly #queue: Array<Write> = []
  #committed: { readonly write: Write; readonly answer: Answer } | undefined
  #load: Load | undefined
  #loaded: DuePage | undefined
  #sweep: Read | undefined
  #swept: ReadonlyArray<TimerHead> | undefined

  constructor(limits: WindowLimits = modelLimits) {
    this.#limits = limits
    const home = {
      shard: 0,
      epoch: 1,
      mayStart: () => true,
      readAgain: () => {},
      get window(): Window {
        throw new Error("the model itself starts the entries here")
      },
    }
    this.window = new Window(home, limits, {
      withdraw: (entry) => {
        expect(this.#ready.delete(entry)).toBe(true)
      },
      wake: () => {},
      // A namespace may become known, and be forgotten again, at any time.
      isKnown: (namespace) => (namespace.length + Math.floor(this.nowMs / 50)) % 2 === 0,
    })
  }

  // ── Writes ────────────────────────────────────────────────────────────────────────────────────

  put(key: number, inMs: number): void {
    this.#enqueue({ kind: "put", timer: this.#timer(key, inMs) })
  }

  /**
   * Creates the timer, or moves it. It does nothing if the timer has begun to fire or was set later than this command.
   */
  schedule(key: number, inMs: number, isOutdated = false): void {
    this.#ask(this.#timer(key, inMs), isOutdated, false)
  }

  /** Cancels the timer unless an attempt runs, or the timer was set later than this command. */
  unschedule(key: number, isOutdated = false): void {
    this.#ask(this.#timer(key, 0), isOutdated, true)
  }

  #ask(timer: Timer, isOutdated: boolean, cancels: boolean): void {
    const running = this.window.entryOf(timer.uuid)
    const inFlight = running?.state === "inFlight" ? running.timer.fireId : undefined
    this.#enqueue({ kind: "schedule", timer, inFlight, isOutdated, cancels })
  }

  cancel(key: number): void {
    const { uuid } = keyOf(namespaceOf(key), `t${key}`)
    this.#enqueue({ kind: "cancel", uuid })
  }

  #timer(key: number, inMs: number): Timer {
    const timer = sampleTimer({
      namespace: namespaceOf(key),
      timerId: `t${key}`,
      executeAt: this.nowMs + inMs,
      ...(key % 4 === 0 ? { payload: new Uint8Array(1_800) } : {}),
    })
    this.#used.add(timer.uuid)
    return timer
  }

  #enqueue(write: Write): void {
    if (write.kind !== "outcome") this.window.expectAnswer(write, uuidOf(write), true)
    this.#queue.push(write)
  }

  /** Stores the next write. Its answer is still on the way. */
  commit(): void {
    const write = this.#committed === undefined ? this.#queue.shift() : undefined
    if (write !== undefined) this.#committed = { write, answer: this.#applied(write) }
  }

  #applied(write: Write): Answer {
    if (write.kind === "put") {
      this.#store.set(write.timer.uuid, write.timer)
      return { kind: "offer", timer: write.timer }
    }
    if (write.kind === "schedule") {
      const { timer, inFlight, isOutdated, cancels } = write
      const row = this.#store.get(timer.uuid)
      const hasBegun = row !== undefined && (row.fireId === inFlight || (row.attempts > 0 && !cancels))
      if (hasBegun || (row !== undefined && isOutdated)) return { kind: "ignored" }
      // An earlier write may have armed the timer again. That arming must not have started since.
      expect(row === undefined || !this.fired.includes(armingOf(row))).toBe(true)
      if (cancels) {
        this.#store.delete(timer.uuid)
        return { kind: "forget" }
      }
      this.#store.set(timer.uuid, timer)
      return { kind: "offer", timer }
    }
    if (write.kind === "cancel") {
      this.#store.delete(write.uuid)
      return { kind: "forget" }
    }
    const { entry, retryAt } = write
    const row = this.#store.get(entry.uuid)
    if (row === undefined || armingOf(row) !== armingOf(entry.timer)) return { kind: "stale", entry }
    if (retryAt === undefined) {
      this.#store.delete(entry.uuid)
      return { kind: "forget" }
    }
    const next = { ...row, attempts: row.attempts + 1, fireAt: retryAt }
    this.#store.set(entry.uuid, next)
    return { kind: "offer", timer: next }
  }

  /** The answer arrives, and the model does what ShardLoop does with it. */
  answer(): void {
    if (this.#committed === undefined) return
    const { write, answer } = this.#committed
    this.#committed = undefined
    const uuid = uuidOf(write)
    // Neither answer changed the store, so a row from a running read is still valid.
    if (answer.kind !== "ignored" && answer.kind !== "stale") this.window.touch(uuid)
    if (answer.kind === "offer") this.window.offer(answer.timer)
    if (answer.kind === "forget") this.window.forget(uuid)
    // Only a write of the same key can have made the answer stale, so its entry is superseded by now.
    if (answer.kind === "stale") expect(answer.entry.isSuperseded).toBe(true)
    if (write.kind !== "outcome") this.window.noteAnswer(write, uuid)
  }

  /** Commits and answers all queued writes. */
  writeAll(): void {
    while (this.#queue.length > 0 || this.#committed !== undefined) {
      this.commit()
      this.answer()
    }
  }

  // ── Firing ────────────────────────────────────────────────────────────────────────────────────

  pass(ms: number): void {
    this.nowMs += ms
  }

  /** Sets the clock back, because it was wrong. */
  setBack(ms: number): void {
    this.nowMs = Math.max(0, this.nowMs - ms)
  }

  takeDue(limit: number): void {
    const due = this.window.takeDue(this.nowMs, limit)
    // Timers of known namespaces come first. Within each kind they are in due order.
    const [known, other] = [due.filter(({ isOfNew }) => !isOfNew), due.filter(({ isOfNew }) => isOfNew)]
    expect(due).toEqual([...known.sort(compareDue), ...other.sort(compareDue)])
    for (const entry of due) this.#ready.add(entry)
  }

  /** Starts attempts while there is room. A hanging target leaves no room. */
  start(inFlight: number): void {
    for (const entry of [...this.#ready].sort(compareDue)) {
      if (this.#flying.length >= inFlight) return
      this.#ready.delete(entry)
      if (this.window.isHeld(entry.uuid)) {
        this.window.holdBack(entry)
        continue
      }
      if (entry.fireAt > this.nowMs) {
        this.window.putBack(entry)
        continue
      }
      const row = this.#store.get(entry.uuid)
      // An attempt never starts early, after a cancel, or for an old arming.
      expect(entry.fireAt).toBeLessThanOrEqual(this.nowMs)
      expect(row === undefined ? "cancelled" : armingOf(row)).toBe(armingOf(entry.timer))
      this.window.start(entry)
      this.#flying.push(entry)
      this.fired.push(armingOf(entry.timer))
    }
  }

  finishAttempt(place: number, retryInMs: number | undefined): void {
    const [entry] = this.#flying.splice(place % Math.max(1, this.#flying.length), 1)
    if (entry === undefined || entry.isSuperseded) return
    entry.state = "settling"
    const retryAt = retryInMs === undefined ? undefined : this.nowMs + 1 + retryInMs
    this.#enqueue({ kind: "outcome", entry, retryAt })
  }

  // ── Reads, one at a time, as in the reading loop ──────────────────────────────────────────────

  beginLoad(isOfNamespace: boolean): void {
    if (this.isReading) return
    this.#load = isOfNamespace
      ? this.window.beginNamespaceLoad(this.nowMs)
      : this.window.beginLoad(this.nowMs)
  }

  beginSweep(): void {
    if (!this.isReading) this.#sweep = this.window.beginRead()
  }

  /** The store answers the read. The reply is still on the way. */
  snapshot(): void {
    if (this.#load !== undefined && this.#loaded === undefined) {
      const { exclusiveAfter, inclusiveUntilMs, limit, only, except = [] } = this.#load
      const rows = this.#rows(({ namespace }) =>
        only === undefined ? !except.includes(namespace) : namespace === only,
      ).filter((row) => isBefore(exclusiveAfter, row) && row.fireAt <= inclusiveUntilMs)
      this.#loaded = pageOf(rows, limit)
    }
    if (this.#sweep !== undefined && this.#swept === undefined) {
      this.#swept = this.#rows(({ fireAt }) => fireAt <= this.nowMs)
    }
  }

  finishRead(hasFailed: boolean): void {
    if (this.#load !== undefined && (this.#loaded !== undefined || hasFailed)) {
      if (hasFailed || this.#loaded === undefined) this.window.abandonLoad(this.#load)
      else this.window.finishLoad(this.#load, this.#loaded)
      this.#load = undefined
      this.#loaded = undefined
    }
    if (this.#sweep !== undefined && (this.#swept !== undefined || hasFailed)) {
      this.window.endRead(this.#sweep)
      // In this model nothing writes without the owner, so a sweep finds nothing to rescue.
      expect(this.window.missing(this.#swept ?? [], this.#sweep)).toEqual([])
      this.#sweep = undefined
      this.#swept = undefined
    }
  }

  /** Reads for as long as the window asks for it, as the reading loop does. Nothing else happens in between. */
  readOn(): void {
    this.snapshot()
    this.finishRead(false)
    for (let reads = 0; ; reads++) {
      this.takeDue(Number.POSITIVE_INFINITY)
      this.beginLoad(false)
      if (!this.isReading) this.beginLoad(true)
      if (!this.isReading) break
      expect(reads).toBeLessThan(readsInARow)
      this.snapshot()
      this.finishRead(false)
      this.check()
    }
    this.#checkNobodyInNeed()
  }

  /** A namespace that has due timers has some of them in memory, even if there is little room. */
  #checkNobodyInNeed(): void {
    // A timer whose cancel is on its way is still in memory.
    if (this.#queue.length > 0 || this.#committed !== undefined) return
    const served = new Set<string>()
    for (const timer of this.#store.values()) {
      const state = this.window.entryOf(timer.uuid)?.state
      if (state !== undefined && state !== "waiting") served.add(timer.namespace)
    }
    for (const { namespace, fireAt } of this.#store.values()) {
      if (fireAt > this.nowMs) continue
      expect(served.has(namespace) ? "served" : `${namespace} is in need`).toBe("served")
    }
  }

  get isReading(): boolean {
    return this.#load !== undefined || this.#sweep !== undefined
  }

  #rows(matches: (timer: Timer) => boolean): Array<Timer> {
    return [...this.#store.values()].filter(matches).sort(compareDue)
  }

  // ── Invariants ────────────────────────────────────────────────────────────────────────────────

  check(): void {
    const { window } = this
    expect(window.oldestDue(this.nowMs)).toBe(this.#oldestDue())
    for (const timer of this.#store.values()) {
      // A write whose answer is on the way changes the window when it arrives.
      if (window.writesQueuedOf(timer.uuid) > 0) continue
      const entry = window.entryOf(timer.uuid)
      if (entry?.state === "settling") continue
      if (isBefore(window.horizonFor(timer.namespace), timer)) continue
      expect(entry === undefined ? "not in memory" : armingOf(entry.timer)).toBe(armingOf(timer))
    }
    // Other tests check the limits of running attempts and of attempts whose outcome has no answer yet.
    const settling =
      this.#queue.filter(({ kind }) => kind === "outcome").length + (this.#committed === undefined ? 0 : 1)
    expect(window.size).toBeLessThanOrEqual(this.#limits.timers + this.#flying.length + settling)
    expect(new Set(this.fired).size).toBe(this.fired.length)
  }

  #oldestDue(): number | undefined {
    const times = [...this.#used].map((uuid) => this.window.entryOf(uuid)?.fireAt ?? Number.POSITIVE_INFINITY)
    const oldest = Math.min(...times)
    return oldest <= this.nowMs ? oldest : undefined
  }

  /** When targets are healthy again and nothing new comes, all pending timers fire. */
  runOut(): void {
    for (let round = 0; round < 200 && !this.#isOver; round++) {
      while (this.#flying.length > 0) this.finishAttempt(0, undefined)
      this.writeAll()
      this.snapshot()
      this.finishRead(false)
      this.beginLoad(round % 2 === 1)
      if (round % 7 === 0) this.beginSweep()
      this.pass(2)
      this.takeDue(5)
      this.start(4)
      this.check()
    }
    expect(this.#store.size).toBe(0)
  }

  get #isOver(): boolean {
    return this.#store.size === 0 && this.#queue.length === 0 && this.#committed === undefined
  }
}
