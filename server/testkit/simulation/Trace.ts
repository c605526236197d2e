// What a run did, step by step. The trace is always a hash, which shows whether two runs are the same. On request, it
// is also lines of text for people.
import { startMs } from "./SimClock.ts"
import type { World } from "./World.ts"

export class Trace {
  readonly lines: Array<string> = []
  readonly #world: World
  readonly #isKept: boolean
  #state = 0x811c_9dc5

  constructor(world: World, isKept: boolean) {
    this.#world = world
    this.#isKept = isKept
  }

  get hash(): string {
    return (this.#state >>> 0).toString(16).padStart(8, "0")
  }

  /** Adds a choice of the run to the hash. */
  mix(value: number): void {
    this.#state = Math.imul(this.#state ^ value ^ (this.#world.nowUs | 0), 0x0100_0193)
    this.#state ^= this.#state >>> 15
  }

  /** Notes an event for readers. The text is built only if the caller asked for lines. */
  note(who: string, what: () => string): void {
    this.mix(who.length)
    if (!this.#isKept) return
    const { nowUs, steps } = this.#world
    this.lines.push(
      `${(nowUs / 1_000).toFixed(3).padStart(11)} ${String(steps).padStart(7)} ${who.padEnd(8)} ${what()}`,
    )
  }
}

/** An instant of a wall clock, in the notation of the trace. */
export const sinceStart = (wallMs: number): string => `+${((wallMs - startMs) / 1_000).toFixed(3)}s`
