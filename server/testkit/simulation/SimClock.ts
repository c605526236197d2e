// Time as one machine sees it. The monotonic clock runs a little fast or slow and never jumps. The wall clock drifts
// and also jumps. The monotonic clock measures sleeps, as in a kernel, and each sleep ends a little late, as real
// sleeps do.
import { type Clock, Duration, Effect } from "effect"
import type { Chance } from "./Chance.ts"
import type { SimProcess } from "./SimProcess.ts"
import type { World } from "./World.ts"

/** The wall clock at the start of every world. */
export const startMs = 1_750_000_000_000
const latestWakeUs = 1_500

/** The two clocks of a machine. They keep running while processes of the machine start and end. */
export class MachineClock {
  /** The difference between the wall clock and true time, without the drift. */
  offsetMs = 0
  readonly #world: World
  readonly #wallRate: number
  readonly #monotonicRate: number

  constructor(world: World, rates: { readonly wall: number; readonly monotonic: number }) {
    this.#world = world
    this.#wallRate = rates.wall
    this.#monotonicRate = rates.monotonic
  }

  /** A machine whose clocks are as wrong as quartz clocks: by at most 1 %. */
  static drifting(world: World, chance: Chance, drift = 0.01): MachineClock {
    const rate = () => 1 + drift * (2 * chance.next() - 1)
    return new MachineClock(world, { wall: rate(), monotonic: rate() })
  }

  wallMs(): number {
    return Math.floor(startMs + (this.#world.nowUs / 1_000) * this.#wallRate + this.offsetMs)
  }

  monotonicNanos(): bigint {
    return BigInt(Math.round(this.#world.nowUs * 1_000 * this.#monotonicRate))
  }

  /** The true time that passes while the monotonic clock counts this many milliseconds. */
  trueUs(ms: number): number {
    return Math.ceil((ms * 1_000) / this.#monotonicRate)
  }
}

export class SimClock implements Clock.Clock {
  readonly currentTimeMillis = Effect.sync(() => this.currentTimeMillisUnsafe())
  readonly currentTimeNanos = Effect.sync(() => this.currentTimeNanosUnsafe())
  readonly monotonicTimeNanos = Effect.sync(() => this.monotonicTimeNanosUnsafe())
  readonly #process: SimProcess
  readonly #machine: MachineClock

  constructor(process: SimProcess, machine: MachineClock) {
    this.#process = process
    this.#machine = machine
  }

  currentTimeMillisUnsafe(): number {
    return this.#machine.wallMs()
  }

  currentTimeNanosUnsafe(): bigint {
    return BigInt(this.#machine.wallMs()) * 1_000_000n
  }

  monotonicTimeNanosUnsafe(): bigint {
    return this.#machine.monotonicNanos()
  }

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    const ms = Duration.toMillis(duration)
    if (ms <= 0) return Effect.yieldNow
    if (!Number.isFinite(ms)) return Effect.never
    const [process, machine] = [this.#process, this.#machine]
    return Effect.callback((resume) => {
      const lateUs = process.chance.below(latestWakeUs)
      const wake = process.world.after(machine.trueUs(ms) + lateUs, () =>
        process.post(() => resume(Effect.void)),
      )
      return Effect.sync(() => {
        wake.run = undefined
      })
    })
  }
}
