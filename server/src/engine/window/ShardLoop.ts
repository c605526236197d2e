// Runs one owned shard with two loops. The firing loop wakes at the earliest fireAt and gives due timers to the
// dispatcher. The reading loop keeps the window filled, and sweeps the store for timers that no window holds. It makes
// one read at a time, so that reads of a shard never overlap.
//
// The window is an optimisation, and the sweep is the guarantee behind it: if every window is lost, timers are late by
// at most one sweep, but never lost. The sweep reads heads without payloads, in bounded pages, up to the horizon, and
// for each excluded namespace up to its own horizon. Timers beyond a horizon are not missing, only not loaded yet.
import { type Clock, Effect } from "effect"
import { beginning, type Cursor } from "../../domain/DueOrder.ts"
import type { Timer, TimerHead, TimerKey, Uuid } from "../../domain/Timer.ts"
import type { WriteAnswer, WriteItem } from "../../domain/WriteItem.ts"
import { keyOfItem } from "../../domain/WriteItem.ts"
import type { AlarmService } from "../../ports/Alarm.ts"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { ActivityCounter } from "../activity/ActivityCounter.ts"
import type { Dispatcher } from "../dispatch/Dispatcher.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { EventFeed } from "../events/EventFeed.ts"
import { Signal } from "../Signal.ts"
import type { DuePace } from "./DuePace.ts"
import type { Entry, Home } from "./Entry.ts"
import type { SetAside } from "./SetAside.ts"
import type { SweepPace } from "./SweepPace.ts"
import { type Load, Window, type WindowLimits } from "./Window.ts"

/** Sleeps are capped and the clock is read again, so that suspends and clock jumps do no harm. */
const longestSleepMs = 1_000
/** Used while the lease cannot be trusted. */
const distrustedSleepMs = 50
const readRetryMs = 250
const rereadsAtMost = 10_000

export interface ShardLoopParts {
  readonly store: TimerStore["Service"]
  /** Unreadable due timers, which the sweep skips. */
  readonly setAside: Pick<SetAside, "has">
  readonly dispatcher: Dispatcher
  /** Shared by all shards. */
  readonly duePace: DuePace
  /** Shared by all shards. */
  readonly sweepPace: SweepPace
  /** Told how late the thread comes to due timers. */
  readonly onDelay?: (delayMs: number) => void
  readonly wall: WallClock["Service"]
  readonly clock: Clock.Clock
  readonly alarm: AlarmService
  readonly metrics: EngineMetrics
  readonly pollingIntervalMs: number
  readonly page: number
  readonly activity?: Pick<ActivityCounter, "answered">
  /** Told what the answers of writes mean. */
  readonly events?: Pick<EventFeed, "isHeard" | "answered">
  /** One of the loops completed a round, or a write was answered. */
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
  /** The excluded namespace that is being swept. `undefined` during the turn of all others, which come first. */
  #sweepOf: string | undefined
  readonly #sweepNext = new Set<string>()
  /** The next sweep covers everything up to the horizon, not only what is due. */
  #sweepsAhead = false
  /** How often a sweep was requested. A sweep that was already running may have read too early. */
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
      isKnown: (namespace) => parts.dispatcher.knows(namespace),
    })
  }

  mayStart(): boolean {
    return (
      this.#isActive &&
      !this.#isPaused &&
      this.#parts.clock.monotonicTimeNanosUnsafe() < this.#trustedUntilNanos
    )
  }

  /** A renewal succeeded. `foreign` has changed if another node inserted timers into this shard. */
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

  /** Starts nothing more for now. Running attempts continue, and the window still follows the writes. */
  pause(): void {
    this.#isPaused = true
  }

  /** The shard is given up. Starts nothing more and clears the window. Running attempts continue. */
  stop(): void {
    this.#isActive = false
    this.window.clear()
  }

  /** The wall clock was moved, or timers that were held back may start. */
  wake(): void {
    this.#fireSignal.raise()
    this.#readSignal.raise()
  }

  /** Whether the dispatcher has all due timers, and the outcome of every attempt is stored. */
  isAtRest(nowMs: number): boolean {
    const { window } = this
    const rereads = this.#rereads
    if (rereads.size > 0 || window.unsettled > 0) return false
    return (window.nextFireAt ?? Number.POSITIVE_INFINITY) > nowMs && window.hasAllDue(nowMs)
  }

  readAgain(entry: Entry): void {
    // A running read may have the same stale state as the entry.
    this.window.touch(entry.uuid)
    if (this.window.entryOf(entry.uuid) === entry) this.window.forget(entry.uuid)
    // Beyond the limit, the sweep finds the timer.
    const { namespace, timerId, uuid } = entry.timer
    if (this.#rereads.size < rereadsAtMost) this.#rereads.set(uuid, { namespace, timerId, uuid })
    this.#readSignal.raise()
  }

  /**
   * Takes the answer to a write of this shard, in queue order. An answer that changed nothing under its key must not
   * touch the key: the row in a running read is then still valid, and no offer would replace it.
   */
  onAnswer(item: WriteItem, answer: WriteAnswer): void {
    const { uuid } = keyOfItem(item)
    const { activity, events } = this.#parts
    activity?.answered(item, answer)
    if (events?.isHeard === true) events.answered(item, answer, this.window.entryOf(uuid)?.fireId)
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
        // For a cancel: a running attempt cannot be stopped, and there will be no other. A change is refused. A marked
        // repeat gets its first answer and does nothing: the timer that is pending now is newer.
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

  /** Sets what is pending under the key from now on. */
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
      /** When the loop should be here again. */
      let expectedNanos = parts.clock.monotonicTimeNanosUnsafe()
      for (;;) {
        self.firingProgressNanos = parts.clock.monotonicTimeNanosUnsafe()
        parts.onDelay?.(Number(self.firingProgressNanos - expectedNanos) / 1e6)
        if (!self.mayStart()) {
          yield* Effect.sleep(distrustedSleepMs)
          expectedNanos = parts.clock.monotonicTimeNanosUnsafe()
          continue
        }
        const now = parts.wall.now()
        const due = window.takeDue(now, parts.duePace.left, parts.duePace.newLeft)
        parts.duePace.took(due)
        parts.dispatcher.submit(due)
        parts.dispatcher.pump()
        // A backlog has pulled the horizon back, so the timers of other namespaces must be read now.
        if (window.isBehind(now)) self.#readSignal.raise()
        parts.onTurn?.()
        if (parts.duePace.isSpent && (window.nextFireAt ?? Number.POSITIVE_INFINITY) <= now) {
          expectedNanos = parts.clock.monotonicTimeNanosUnsafe()
          yield* Effect.yieldNow
          continue
        }
        const nowAgain = parts.wall.now()
        const wakeAt = Math.min(window.nextFireAt ?? Number.POSITIVE_INFINITY, nowAgain + longestSleepMs)
        expectedNanos =
          parts.clock.monotonicTimeNanosUnsafe() + BigInt(Math.ceil(wakeAt - nowAgain)) * 1_000_000n
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
        // The firing loop gets its turn after each page. What it takes shows which namespace has the backlog.
        if (hasRead) yield* Effect.yieldNow
        else yield* self.#readSignal.waitAtMost(self.#sleepMs)
      }
    })
  })

  /** A long sweep goes on when its next page is due. */
  get #sleepMs(): number {
    if (!this.#isActive || this.#sweepFrom === beginning) return longestSleepMs
    const waitNanos = this.#sweepDueNanos - this.#parts.clock.monotonicTimeNanosUnsafe()
    return Math.min(longestSleepMs, Math.ceil(Number(waitNanos) / 1e6))
  }

  /** Makes the most urgent read, if there is one. Sweep pages and loads take turns. */
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
        Effect.tap((page) =>
          Effect.sync(() =>
            this.#isActive ? this.window.finishLoad(load, page) : this.window.abandonLoad(load),
          ),
        ),
        Effect.onError(() => Effect.sync(() => this.window.abandonLoad(load))),
        Effect.asVoid,
      )
  }

  /** Reads one key and takes the result. */
  #readKey(key: TimerKey): Effect.Effect<boolean, StoreError> {
    const { window } = this
    const rereads = this.#rereads
    return Effect.suspend(() => {
      const read = window.beginRead()
      return this.#parts.store.find(key).pipe(
        Effect.map(({ pending }) => {
          // If the key was requested again since then, it is read again.
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
      // A window that was cleared because the shard is lost misses nothing.
      if (!self.#isActive) return
      let rescued = 0
      for (const head of window.missing(heads, read)) {
        if (parts.setAside.has(head)) continue
        if (!(yield* self.#readKey(head))) continue
        rescued++
        parts.metrics.rescued(1)
      }
      const endedNanos = parts.clock.monotonicTimeNanosUnsafe()
      parts.metrics.swept(Number(endedNanos - startedNanos) / 1e6)
      if (self.#sweepsAsked !== asked) return
      if (sweepOf === undefined) for (const namespace of except) self.#sweepNext.add(namespace)
      self.#sweepOn(heads.length === parts.page ? heads.at(-1) : undefined, endedNanos)
      const isUrgent = rescued > 0 || self.#sweepsAhead
      if (self.#sweepFrom !== beginning && !isUrgent)
        self.#sweepDueNanos = parts.sweepPace.takePlace(endedNanos, heads.length)
    })
  })

  /** Decides where the sweep continues: after a full page, with the next namespace, or when it is due again. */
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
    // After a fatal error the process is about to end.
    if (error.isFatal) return Effect.never
    return Effect.logWarning(`a read of shard ${this.shard} failed, trying again: ${error.message}`).pipe(
      Effect.andThen(Effect.sleep(readRetryMs)),
      Effect.as(true),
    )
  }
}
