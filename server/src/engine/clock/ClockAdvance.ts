// Moves a manual clock ahead, for programs that test what they scheduled: everything that comes due on the way is
// fired in the order of its instants, and what an earlier instant started is stored before a later one begins.
//
// The engine does not know of this. It fires whatever the clock says is due; here the clock goes in steps to the next
// instant at which anything is pending, and each step waits until the engine is at rest: nothing due that could start,
// nothing in flight, no outcome unstored, nothing due that is not in memory. So retries and re-armed timers are met at
// their own instants like all others. What is held back (a paused namespace, a handler that is not there) starts
// nothing while nothing else runs, and is not waited for.
//
// Sleeps, leases and time-outs of I/O stay on the real clock. An advance is bounded in real time, from its receipt: one
// that has to end early says so, and the clock stands where it has come to.
import { type Clock, Effect, Schema, Semaphore } from "effect"
import { endOf } from "../../domain/DueOrder.ts"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { ManualClock, WallClock } from "../../ports/WallClock.ts"
import type { Dispatcher } from "../dispatch/Dispatcher.ts"
import { Signal } from "../Signal.ts"
import type { ShardLoop } from "../window/ShardLoop.ts"

/** The clock cannot be moved there; `message` is a clause about the time that was asked for. */
export class InvalidAdvance extends Schema.TaggedError<InvalidAdvance>()("InvalidAdvance", {
  message: Schema.String,
}) {}

/** Others move the clock, and it was not this one's turn in time: nothing was done. */
export class ClockBusy extends Schema.TaggedError<ClockBusy>()("ClockBusy", {}) {}

export interface AdvanceCommand {
  readonly to: { readonly byMs: number } | { readonly untilMs: number }
  /** No further instant is begun after this many attempts; all of one instant are fired together. */
  readonly maxFirings: number
}

export interface Advanced {
  readonly nowMs: number
  /** Attempts whose outcome was stored meanwhile, retries included. */
  readonly fired: number
  /** The clock has not come to where it was sent. */
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
  /** The process is stopping: nothing starts any more. */
  readonly isStopping: () => boolean
  /** What the new time makes obsolete goes now, not some time later. */
  readonly prune: Effect.Effect<void>
}

/** Of real time. A listener gives up on silent connections a little later. */
export const longestAdvanceMs = 240_000
/** Calls that move the clock, or wait for their turn to. */
const advancesAtOnce = 64
/** How often the next instant is looked for while others write: they may never pause. */
const looksMost = 5
/** Only to see whether its time is over: whatever happens wakes it. */
const lookEveryMs = 50
/** Four digits of a year must do for all that is counted from here. */
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

  /** An attempt has ended, and what came of it is stored. */
  noteStored(): void {
    this.#stored++
    this.#stirred.raise()
  }

  /** The engine may have come to rest, or a write was answered. */
  noteTurn(): void {
    this.#turns++
    this.#stirred.raise()
  }

  /** One at a time, in the order in which they came. */
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
        // While the store was asked, others may have created what is due already: it is this instant's.
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

  /** False if its time was over first. */
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
    // What is ready and does not start, while nothing runs that it could wait for, is held back.
    dispatcher.pump()
    return dispatcher.inFlight === 0 && this.#areAtRest(loops) && due() === dispatcher.readyCount
  }

  #areAtRest(loops: ReturnType<ClockAdvanceParts["loops"]>): boolean {
    return loops.every((loop) => loop.isAtRest(this.nowMs))
  }

  /**
   * The next instant at which anything is pending, up to a bound. Windows know most of them, and the store all. What is
   * created while the store is asked is in neither answer, if it lies beyond the windows: so it is asked again.
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
      message: `must not lie before the clock, which stands at ${new Date(nowMs).toISOString()} and never goes back`,
    })
  }
  return targetMs > farthestMs
    ? new InvalidAdvance({ message: "must not lead beyond 9000-01-01T00:00:00Z" })
    : undefined
}
