// One owned shard at work. Two loops: the firing loop wakes at the earliest fireAt and hands what is due to
// the dispatcher; the reading loop keeps the window filled and sweeps the store for what no window holds.
// The reading loop makes one read at a time, so that reads of a shard never overlap.
//
// The sweep is the guarantee under the optimisation: lose every window, and timers are late by at most one
// sweep, never lost. It reads heads without payloads, in bounded pages, up to the horizon, and those of each
// excluded namespace up to its own: beyond it nothing is missing, only not loaded yet.
import { type Clock, Effect } from "effect"
import { beginning, type Cursor } from "../../domain/DueOrder.ts"
import type { Timer, TimerHead, TimerKey, Uuid } from "../../domain/Timer.ts"
import type { WriteAnswer, WriteItem } from "../../domain/WriteItem.ts"
import { keyOfItem } from "../../domain/WriteItem.ts"
import type { AlarmService } from "../../ports/Alarm.ts"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { Dispatcher } from "../dispatch/Dispatcher.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import { Signal } from "../Signal.ts"
import type { Entry, Home } from "./Entry.ts"
import type { SetAside } from "./SetAside.ts"
import { type Load, Window, type WindowLimits } from "./Window.ts"

/** Sleeps are capped, and the clock read again: suspends and jumps of the clock do no harm. */
const longestSleepMs = 1_000
/** While the lease is not to be trusted. */
const distrustedSleepMs = 50
const readRetryMs = 250
/** So that one shard's burst does not keep the others from their turn. */
const dueAtOnce = 1_000
const rereadsAtMost = 10_000

export interface ShardLoopParts {
  readonly store: TimerStore["Service"]
  /** Due timers that cannot be read: the sweep leaves them out. */
  readonly setAside: Pick<SetAside, "has">
  readonly dispatcher: Dispatcher
  readonly wall: WallClock["Service"]
  readonly clock: Clock.Clock
  readonly alarm: AlarmService
  readonly metrics: EngineMetrics
  readonly pollingIntervalMs: number
  readonly page: number
  /** One of its loops has gone round, or a write was answered. */
  readonly onTurn?: () => void
}

export class ShardLoop implements Home {
  readonly shard: number
  readonly epoch: number
  readonly window: Window
  firingProgressNanos: bigint
  readingProgressNanos: bigint
  readonly #parts: ShardLoopParts
  readonly #fireSignal = new Signal()
  readonly #readSignal = new Signal()
  readonly #rereads = new Map<Uuid, TimerKey>()
  #trustedUntilNanos: bigint
  #isActive = true
  #isPaused = false
  #sweepDueNanos: bigint
  #hasJustSwept = false
  #sweepFrom: Cursor = beginning
  /** The excluded namespace that is being looked through; none while it is the others' turn, which come first. */
  #sweepOf: string | undefined
  readonly #sweepNext = new Set<string>()
  /** The next sweep looks at all up to the horizon, not only at what is due. */
  #sweepsAhead = false
  /** How often a sweep was asked for: one that is under way then may have read too early to see why. */
  #sweepsAsked = 0
  #foreign: number

  constructor(
    lease: { readonly shard: number; readonly epoch: number; readonly foreign: number },
    trustedUntilNanos: bigint,
    limits: WindowLimits,
    parts: ShardLoopParts,
  ) {
    this.shard = lease.shard
    this.epoch = lease.epoch
    this.#foreign = lease.foreign
    this.#trustedUntilNanos = trustedUntilNanos
    this.#parts = parts
    const now = parts.clock.monotonicTimeNanosUnsafe()
    this.firingProgressNanos = now
    this.readingProgressNanos = now
    this.#sweepDueNanos = now + BigInt(parts.pollingIntervalMs) * 1_000_000n
    this.window = new Window(this, limits, {
      withdraw: (entry) => parts.dispatcher.withdraw(entry),
      wake: () => this.#fireSignal.raise(),
    })
  }

  mayStart(): boolean {
    return (
      this.#isActive &&
      !this.#isPaused &&
      this.#parts.clock.monotonicTimeNanosUnsafe() < this.#trustedUntilNanos
    )
  }

  /** A renewal succeeded; `foreign` has changed if someone inserted behind this owner's back. */
  renewed(trustedUntilNanos: bigint, foreign: number): void {
    this.#trustedUntilNanos = trustedUntilNanos
    if (foreign === this.#foreign) return
    this.#foreign = foreign
    this.#sweepsAsked++
    this.#sweepsAhead = true
    this.#sweepFrom = beginning
    this.#sweepOf = undefined
    this.#sweepDueNanos = 0n
    this.#readSignal.raise()
  }

  /** Starts nothing more for now; what runs goes on, writes are taken, and the window is kept up with them. */
  pause(): void {
    this.#isPaused = true
  }

  /** The shard is given up: starts nothing more, and forgets what it had; what runs goes on. */
  stop(): void {
    this.#isActive = false
    this.window.clear()
  }

  /** The wall clock was moved, or what was held back may start. */
  wake(): void {
    this.#fireSignal.raise()
    this.#readSignal.raise()
  }

  /** Whether all that is due is in the dispatcher's hands, and the outcome of every attempt is stored. */
  isAtRest(nowMs: number): boolean {
    const { window } = this
    const rereads = this.#rereads
    if (rereads.size > 0 || window.unsettled > 0) return false
    return (window.nextFireAt ?? Number.POSITIVE_INFINITY) > nowMs && window.hasAllDue(nowMs)
  }

  readAgain(entry: Entry): void {
    // A read that runs may have seen what the entry said as well.
    this.window.touch(entry.uuid)
    if (this.window.entryOf(entry.uuid) === entry) this.window.forget(entry.uuid)
    // Past the bound the sweep finds it.
    const { namespace, timerId, uuid } = entry.timer
    if (this.#rereads.size < rereadsAtMost) this.#rereads.set(uuid, { namespace, timerId, uuid })
    this.#readSignal.raise()
  }

  /**
   * The answer of a write of this shard, in queue order. What changed nothing under its key touches nothing: the
   * row that a running read has of it stands, for nobody offers it.
   */
  onAnswer(item: WriteItem, answer: WriteAnswer): void {
    const { uuid } = keyOfItem(item)
    switch (answer.result) {
      case "created":
      case "replaced":
      case "unchanged":
      case "exists":
      case "changed":
      case "moved":
      case "replayed":
        this.#take(uuid, answer.timer)
        break
      case "cancelled":
      case "inFlight":
        // Of a cancel: an attempt cannot be called back, and there will be no other. A change is refused. A marked
        // repeat is told what it did before, and does nothing: what is pending by now has come after it.
        if ((item.kind === "cancel" && !item.isRepeat) || item.kind === "schedule")
          this.#take(uuid, undefined)
        break
      case "settled":
        this.#take(uuid, answer.next)
        break
      default:
    }
    if (item.kind !== "outcome" && item.kind !== "record") this.window.noteAnswer(item, uuid)
    this.#parts.onTurn?.()
  }

  /** What is pending under the key from now on. */
  #take(uuid: Uuid, pending: Timer | undefined): void {
    this.window.touch(uuid)
    if (pending === undefined) this.window.forget(uuid)
    else this.window.offer(pending)
    if (this.window.wantsRoom) this.#readSignal.raise()
  }

  readonly fireForever: Effect.Effect<never> = Effect.suspend(() => {
    const { window } = this
    const parts = this.#parts
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        self.firingProgressNanos = parts.clock.monotonicTimeNanosUnsafe()
        if (!self.mayStart()) {
          yield* Effect.sleep(distrustedSleepMs)
          continue
        }
        const now = parts.wall.now()
        const due = window.takeDue(now, dueAtOnce)
        parts.dispatcher.submit(due)
        parts.dispatcher.pump()
        // A backlog has pulled the horizon back: others' timers are to be read now.
        if (window.isBehind(now)) self.#readSignal.raise()
        parts.onTurn?.()
        if (due.length === dueAtOnce) {
          yield* Effect.yieldNow
          continue
        }
        const nowAgain = parts.wall.now()
        const wakeAt = Math.min(window.nextFireAt ?? Number.POSITIVE_INFINITY, nowAgain + longestSleepMs)
        yield* self.#fireSignal.waitDuring(parts.alarm.sleepUntil(wakeAt, nowAgain))
      }
    })
  })

  readonly readForever: Effect.Effect<never> = Effect.suspend(() => {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        const hasRead = yield* self.#readOnce.pipe(
          Effect.tap(() => Effect.sync(() => self.#noteReadingProgress())),
          Effect.catch((error) => self.#afterFailedRead(error)),
        )
        // After each page the firing loop has its turn: what it takes tells whose backlog this is.
        if (hasRead) yield* Effect.yieldNow
        else yield* self.#readSignal.waitAtMost(longestSleepMs)
      }
    })
  })

  /** The most urgent read there is, if any. Pages of a sweep and loads take turns. */
  readonly #readOnce: Effect.Effect<boolean, StoreError> = Effect.suspend(() => {
    if (!this.#isActive) return Effect.succeed(false)
    const [reread] = this.#rereads.values()
    if (reread !== undefined) return Effect.as(this.#readKey(reread), true)
    const isSweepDue = this.#parts.clock.monotonicTimeNanosUnsafe() >= this.#sweepDueNanos
    if (isSweepDue && !this.#hasJustSwept) return Effect.as(this.#sweepPage, true)
    this.#hasJustSwept = false
    const now = this.#parts.wall.now()
    const load = this.window.beginLoad(now) ?? this.window.beginNamespaceLoad(now)
    if (load !== undefined) return Effect.as(this.#load(load), true)
    return isSweepDue ? Effect.as(this.#sweepPage, true) : Effect.succeed(false)
  })

  #load(load: Load): Effect.Effect<void, StoreError> {
    const { exclusiveAfter, inclusiveUntilMs, limit, only, except } = load
    return this.#parts.store
      .due({
        shard: this.shard,
        exclusiveAfter,
        inclusiveUntilMs,
        limit,
        ...(only === undefined ? {} : { only }),
        ...(except === undefined || except.length === 0 ? {} : { except }),
      })
      .pipe(
        Effect.tap((rows) =>
          Effect.sync(() =>
            this.#isActive ? this.window.finishLoad(load, rows) : this.window.abandonLoad(load),
          ),
        ),
        Effect.onError(() => Effect.sync(() => this.window.abandonLoad(load))),
        Effect.asVoid,
      )
  }

  /** Reads one key and takes what is there. */
  #readKey(key: TimerKey): Effect.Effect<boolean, StoreError> {
    const { window } = this
    const rereads = this.#rereads
    return Effect.suspend(() => {
      const read = window.beginRead()
      return this.#parts.store.find(key).pipe(
        Effect.map(({ pending }) => {
          // What was asked for again since then is read again.
          if (!read.dirty.has(key.uuid)) rereads.delete(key.uuid)
          return this.#isActive && pending !== undefined && window.rescue(pending, read)
        }),
        Effect.ensuring(Effect.sync(() => window.endRead(read))),
      )
    })
  }

  readonly #sweepPage: Effect.Effect<void, StoreError> = Effect.suspend(() => {
    const self = this
    const { window } = this
    const [parts, sweepOf] = [this.#parts, this.#sweepOf]
    return Effect.gen(function* () {
      const startedNanos = parts.clock.monotonicTimeNanosUnsafe()
      self.#hasJustSwept = true
      const asked = self.#sweepsAsked
      const read = window.beginRead()
      const horizonMs = (sweepOf === undefined ? window.horizon : window.horizonFor(sweepOf)).fireAt
      const except = window.excludedNamespaces
      const heads = yield* parts.store
        .dueHeads({
          shard: self.shard,
          exclusiveAfter: self.#sweepFrom,
          inclusiveUntilMs: self.#sweepsAhead ? horizonMs : Math.min(parts.wall.now(), horizonMs),
          limit: parts.page,
          ...(sweepOf === undefined ? {} : { only: sweepOf }),
          ...(sweepOf !== undefined || except.length === 0 ? {} : { except }),
        })
        .pipe(Effect.ensuring(Effect.sync(() => window.endRead(read))))
      // A window that was cleared, for the shard is lost, misses nothing.
      if (!self.#isActive) return
      for (const head of window.missing(heads, read)) {
        if (parts.setAside.has(head)) continue
        if (yield* self.#readKey(head)) parts.metrics.rescued(1)
      }
      const endedNanos = parts.clock.monotonicTimeNanosUnsafe()
      parts.metrics.swept(Number(endedNanos - startedNanos) / 1e6)
      if (self.#sweepsAsked !== asked) return
      if (sweepOf === undefined) for (const namespace of except) self.#sweepNext.add(namespace)
      self.#sweepOn(heads.length === parts.page ? heads.at(-1) : undefined, endedNanos)
    })
  })

  /** Where the sweep goes on: after the last of a full page, with the next namespace, or when it is due again. */
  #sweepOn(last: TimerHead | undefined, nowNanos: bigint): void {
    this.#sweepFrom = last === undefined ? beginning : { fireAt: last.fireAt, fireId: last.fireId }
    if (last !== undefined) return
    const [next] = this.#sweepNext
    this.#sweepOf = next
    if (next !== undefined) {
      this.#sweepNext.delete(next)
      return
    }
    this.#sweepsAhead = false
    this.#sweepDueNanos = nowNanos + BigInt(this.#parts.pollingIntervalMs) * 1_000_000n
  }

  #noteReadingProgress(): void {
    this.readingProgressNanos = this.#parts.clock.monotonicTimeNanosUnsafe()
    this.#parts.onTurn?.()
  }

  #afterFailedRead(error: StoreError): Effect.Effect<boolean> {
    // After a fatal error the process is ending.
    if (error.isFatal) return Effect.never
    return Effect.logWarning(`a read of shard ${this.shard} failed and is repeated: ${error.message}`).pipe(
      Effect.andThen(Effect.sleep(readRetryMs)),
      Effect.as(true),
    )
  }
}
