// Spreads the pages of long sweeps over time. A window may hold hundreds of thousands of overdue timers, and a sweep reads
// the heads of all of them. If all shards did this without a pause, the thread and the store would have little time for
// other timers. All shards share one pace.

/** 12,500 timers in a second: a page of the usual size in 40 ms. */
const nanosPerTimer = 80_000n

export class SweepPace {
  #nextNanos = 0n

  /** When the next page of so many timers may be read. Each call takes a place of its own. */
  takePlace(nowNanos: bigint, timers: number): bigint {
    const placeNanos = this.#nextNanos > nowNanos ? this.#nextNanos : nowNanos
    this.#nextNanos = placeNanos + BigInt(timers) * nanosPerTimer
    return placeNanos
  }
}
