// How many attempts of new namespaces may start in the next milliseconds. Nobody knows how many new namespaces there are: a
// caller can make tens of thousands, each with a timer that is due at one instant. If all of them started as fast as the
// thread allows, the thread, the store and the endpoints of known namespaces would be busy all the time. So new namespaces
// get what known ones leave over: each time the thread reaches a due timer too late, new namespaces start half as many
// attempts, and a few more after each while without delays.

/** The allowance counts for this long. */
const tickMs = 10
/** A smaller delay is normal. */
export const lateFromMs = 3
/** Also on a machine that is always late, new namespaces start 200 attempts in a second. */
const leastPerTick = 2
const mostPerTick = 100
const firstPerTick = 20
/** After so many ticks without a delay, one more may start in each tick. */
const calmTicksPerRaise = 5

export class NewcomerPace {
  readonly #nowMs: () => number
  #perTick = firstPerTick
  #left = firstPerTick
  #tick: number
  #calmTicks = 0
  #wasLate = false

  /** The clock is monotonic. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#tick = Math.floor(nowMs() / tickMs)
  }

  /** How many attempts of new namespaces may start in a tick. */
  get perTick(): number {
    return this.#perTick
  }

  /** The thread came to its due timers this much later than it should. */
  noteDelay(delayMs: number): void {
    if (delayMs < lateFromMs) return
    this.#advance()
    this.#calmTicks = 0
    if (this.#wasLate) return
    this.#wasLate = true
    this.#perTick = Math.max(leastPerTick, Math.floor(this.#perTick / 2))
    this.#left = Math.min(this.#left, this.#perTick)
  }

  mayStart(): boolean {
    this.#advance()
    return this.#left > 0
  }

  started(): void {
    this.#left--
  }

  /** After this time more may start. */
  get nextInMs(): number {
    return Math.max(1, (this.#tick + 1) * tickMs - this.#nowMs())
  }

  #advance(): void {
    const tick = Math.floor(this.#nowMs() / tickMs)
    if (tick === this.#tick) return
    this.#calmTicks += tick - this.#tick - (this.#wasLate ? 1 : 0)
    this.#tick = tick
    this.#wasLate = false
    const raises = Math.floor(this.#calmTicks / calmTicksPerRaise)
    this.#calmTicks -= raises * calmTicksPerRaise
    this.#perTick = Math.min(mostPerTick, this.#perTick + raises)
    this.#left = this.#perTick
  }
}
