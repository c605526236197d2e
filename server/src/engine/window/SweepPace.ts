// Spreads the pages of long sweeps over time. A window may hold hundreds of thousands of overdue timers, and a sweep reads
// the heads of all of them. If all shards did this without a pause, the thread and the store would have little time for
// other timers. All shards share one pace, whatever a page costs.

/** 50 pages in a second: 25,000 timers with the usual page size. */
const pageEveryNanos = 40_000_000n

export class SweepPace {
  #nextNanos = 0n

  /** When the next page may be read. Each call takes a place of its own. */
  takePlace(nowNanos: bigint): bigint {
    const placeNanos = this.#nextNanos > nowNanos ? this.#nextNanos : nowNanos
    this.#nextNanos = placeNanos + pageEveryNanos
    return placeNanos
  }
}
