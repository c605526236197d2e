// Moves a manual clock ahead, for programs that test what they scheduled. All timers that come due on the way fire in
// the order of their instants. The outcomes of an instant are stored before the next instant begins.
//
// The engine does not know about this class. It fires what is due by the clock. This class moves the clock in steps
// to the next instant with a pending timer. Each step waits until the engine is at rest: no due timer can start, none
// is in flight, no outcome is unstored, and every due timer is in memory. So retries and re-armed timers fire at their
// own instants like all others. Timers that are held back (by a paused namespace or a missing handler) do not start
// while nothing else runs, so a step does not wait for them.
//
// Sleeps, leases and I/O timeouts stay on the real clock. An advance is bounded in real time, from the receipt of the
// call. If it has to end early, its answer says so, and the clock stays where it is.
import { type Clock, Effect, Schema, Semaphore } from "effect"
import { endOf } from "../../domain/DueOrder.ts"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { ManualClock, WallClock } from "../../ports/WallClock.ts"
import type { Dispatcher } from "../dispatch/Dispatcher.ts"
import { Signal } from "../Signal.ts"
import type { ShardLoop } from "../window/ShardLoop.ts"

/** The clock cannot be moved there. `message` is a clause about the requested time. */
export class InvalidAdvance extends Schema.TaggedError<InvalidAdvance>()("InvalidAdvance", {
  message: Schema.String,
}) {}

/** Other calls move the clock, and this one did not get its turn in time. Nothing was done. */
export class ClockBusy extends Schema.TaggedError<ClockBusy>()("ClockBusy", {}) {}

export interface AdvanceCommand {
  readonly to: { readonly byMs: number } | { readonly untilMs: number }
  /** After this many attempts the advance begins no further instant. All timers of one instant fire together. */
  readonly maxFirings: number
}

export interface Advanced {
  readonly nowMs: number
  /** Attempts whose outcome was stored meanwhile, retries included. */
  readonly fired: number
  /** The clock has not reached the requested time. */
  readonly isUnfinished: boolean
}

export interface ClockAdvanceParts {
  readonly wall: WallClock["Service"]
  readonly manual: ManualClock["Service"]
  readonly clock: Clock.Clock
  readonly store: Pick<TimerStore["Service"], "dueHeads">
  readonly dispatcher: Pick<Dispatcher, "pump" | "inFlight" | "readyCount">
  readonly shards: () => number | undefined
  readonly loops: () => ReadonlyArray<Pick<ShardLoop, "shard" | "window" | "wake" | "isAtRest">>
  /** The process is stopping, and nothing new starts. */
  readonly isStopping: () => boolean
  /** Prunes history that the new time makes obsolete, now instead of some time later. */
  readonly prune: Effect.Effect<void>
}

/** In real time. The HTTP listener closes silent connections a little later. */
export const longestAdvanceMs = 240_000
/** The limit of calls that move the clock or wait for their turn. */
const advancesAtOnce = 64
/** How often the next instant is searched while others write, because the writes may never pause. */
const looksMost = 5
/** Only to check the time limit. Every event wakes the wait anyway. */
const lookEveryMs = 50
/** All times counted from here must fit into four-digit years. */
const farthestMs = Date.UTC(9000, 0, 1)

export class ClockAdvance {
  readonly #parts: ClockAdvanceParts
  readonly #turn = Semaphore.makeUnsafe(1)
  readonly #stirred = new Signal()
  #advances = 0
  #stored = 0
  #turns = 0

  constructor(parts: ClockAdvanceParts) {
    this.#parts = parts
  }

  get nowMs(): number {
    return this.#parts.wall.now()
  }

  /** An attempt has ended, and its outcome is stored. */
  noteStored(): void {
    this.#stored++
    this.#stirred.raise()
  }

  /** The engine may have come to rest, or a write was answered. */
  noteTurn(): void {
    this.#turns++
    this.#stirred.raise()
  }

  /** Runs one advance at a time, in the order of the calls. */
  advance(command: AdvanceCommand): Effect.Effect<Advanced, InvalidAdvance | ClockBusy | StoreError> {
    return Effect.suspend(() => {
      if (this.#advances >= advancesAtOnce) return new ClockBusy()
      this.#advances++
      const endNanos = this.#parts.clock.monotonicTimeNanosUnsafe() + BigInt(longestAdvanceMs) * 1_000_000n
      const inTurn = this.#turn.withPermit(
        Effect.suspend(
          (): ReturnType<ClockAdvance["advance"]> =>
            this.#isOver(endNanos) ? new ClockBusy() : this.#run(command, endNanos),
        ),
      )
      return Effect.ensuring(
        inTurn,
        Effect.sync(() => {
          this.#advances--
        }),
      )
    })
  }

  #run(command: AdvanceCommand, endNanos: bigint): Effect.Effect<Advanced, InvalidAdvance | StoreError> {
    const self = this
    const { manual } = this.#parts
    return Effect.gen(function* () {
      const target = "byMs" in command.to ? self.nowMs + command.to.byMs : command.to.untilMs
      const refused = whyNot(target, self.nowMs)
      if (refused !== undefined) return yield* refused
      const storedBefore = self.#stored
      const advanced = (isUnfinished: boolean): Advanced => ({
        nowMs: self.nowMs,
        fired: self.#stored - storedBefore,
        isUnfinished,
      })
      for (;;) {
        if (!(yield* self.#comeToRest(endNanos))) return advanced(true)
        const next = yield* self.#nextInstant(target)
        // While the store was asked, a caller may have created a timer that is already due. It belongs to this instant.
        if (!self.#isAtRest()) {
          if (self.#isOver(endNanos)) return advanced(true)
          continue
        }
        if (next === undefined) break
        if (self.#stored - storedBefore >= command.maxFirings || self.#isOver(endNanos)) return advanced(true)
        manual.moveTo(next)
      }
      manual.moveTo(target)
      yield* self.#parts.prune
      return advanced(false)
    })
  }

  /** False if the time limit was reached first. */
  #comeToRest(endNanos: bigint): Effect.Effect<boolean> {
    const self = this
    return Effect.gen(function* () {
      for (const loop of self.#parts.loops()) if (!loop.isAtRest(self.nowMs)) loop.wake()
      while (!self.#isAtRest()) {
        if (self.#isOver(endNanos)) return false
        yield* self.#stirred.waitAtMost(lookEveryMs)
      }
      return true
    })
  }

  #isAtRest(): boolean {
    const { dispatcher, loops: loopsOf, shards } = this.#parts
    const loops = loopsOf()
    if (loops.length !== shards() || !this.#areAtRest(loops)) return false
    const due = () => loops.reduce((sum, { window }) => sum + window.due, 0)
    if (due() === 0) return true
    // A timer that is ready but does not start, while nothing runs that it could wait for, is held back.
    dispatcher.pump()
    return dispatcher.inFlight === 0 && this.#areAtRest(loops) && due() === dispatcher.readyCount
  }

  #areAtRest(loops: ReturnType<ClockAdvanceParts["loops"]>): boolean {
    return loops.every((loop) => loop.isAtRest(this.nowMs))
  }

  /**
   * The next instant with a pending timer, up to a bound. Windows know most of them, and the store knows all. A timer
   * beyond the windows that is created while the store is asked is in neither answer. So the store is asked again.
   */
  #nextInstant(untilMs: number): Effect.Effect<number | undefined, StoreError> {
    const self = this
    return Effect.gen(function* () {
      for (let look = 1; ; look++) {
        const turns = self.#turns
        let earliest: number | undefined
        const meet = (next: number | undefined) => {
          if (next !== undefined && next <= untilMs) earliest = Math.min(earliest ?? next, next)
        }
        for (const { shard, window } of self.#parts.loops()) {
          const { nextFireAt, knownUntilMs } = window
          if (knownUntilMs >= Math.min(untilMs, nextFireAt ?? untilMs)) continue
          const [head] = yield* self.#parts.store.dueHeads({
            shard,
            exclusiveAfter: endOf(self.nowMs),
            inclusiveUntilMs: untilMs,
            limit: 1,
          })
          meet(head?.fireAt)
        }
        for (const { window } of self.#parts.loops()) meet(window.nextFireAt)
        if (self.#turns === turns || look === looksMost) return earliest
      }
    })
  }

  #isOver(endNanos: bigint): boolean {
    return this.#parts.isStopping() || this.#parts.clock.monotonicTimeNanosUnsafe() >= endNanos
  }
}

const whyNot = (targetMs: number, nowMs: number): InvalidAdvance | undefined => {
  if (targetMs < nowMs) {
    return new InvalidAdvance({
      message: `must not be before the clock, which is at ${new Date(nowMs).toISOString()} and never goes back`,
    })
  }
  return targetMs > farthestMs
    ? new InvalidAdvance({ message: "must not be after 9000-01-01T00:00:00Z" })
    : undefined
}
