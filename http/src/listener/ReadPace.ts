// Limits how many bytes of large bodies all connections together read in a second. Reading a gigabyte takes the thread
// about a second, and timers fire on the same thread. So a few clients that send large bodies without a pause would
// delay every timer. Connections beyond the limit wait: the system holds their bytes, and their clients send more slowly.
import type { PaceClock } from "../PaceClock.ts"

export interface ReadPaceOptions extends PaceClock {
  readonly bytesPerSecond: number
  /** What may be read at once after a time without large reads. */
  readonly burstBytes: number
}

/** A connection that reads. */
export interface PacedReader {
  /** It may read again. */
  release(): void
}

/** A read of at most this many bytes does not count: requests of this size are limited as calls. */
export const smallReadBytes = 16 * 1024

/** How often waiting connections are checked, and how many of them go on at once. */
const tickMs = 4
const releasedPerTick = 4

export class ReadPace {
  readonly #options: ReadPaceOptions
  readonly #waiting = new Set<PacedReader>()
  #roomBytes: number
  #filledAtMs: number
  #isTicking = false

  constructor(options: ReadPaceOptions) {
    this.#options = options
    this.#roomBytes = options.burstBytes
    this.#filledAtMs = options.nowMs()
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Counts a read. If there is no room left, the reader waits until `release`, and this returns true. */
  mustWait(reader: PacedReader, bytes: number): boolean {
    if (bytes <= smallReadBytes) return false
    this.#fill()
    this.#roomBytes -= bytes
    if (this.#roomBytes > 0 && this.#waiting.size === 0) return false
    this.#waiting.add(reader)
    this.#tickSoon()
    return true
  }

  leave(reader: PacedReader): void {
    this.#waiting.delete(reader)
  }

  #fill(): void {
    const { bytesPerSecond, burstBytes, nowMs } = this.#options
    const now = nowMs()
    const filled = ((now - this.#filledAtMs) * bytesPerSecond) / 1_000
    this.#roomBytes = Math.min(burstBytes, this.#roomBytes + filled)
    this.#filledAtMs = now
  }

  #tickSoon(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    this.#options.after(tickMs, this.#tick)
  }

  readonly #tick = (): void => {
    this.#isTicking = false
    this.#fill()
    let left = this.#roomBytes > 0 ? releasedPerTick : 0
    for (const reader of this.#waiting) {
      if (left-- <= 0) break
      this.#waiting.delete(reader)
      reader.release()
    }
    if (this.#waiting.size > 0) this.#tickSoon()
  }
}
