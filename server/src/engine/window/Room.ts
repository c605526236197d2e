// How much of its limits a window uses, in timers and in bytes, and how much still fits. Only timers at rest count:
// those that are waiting or ready. Running attempts have their own limit, and must not take room from other timers.
import type { Entry } from "./Entry.ts"

export interface WindowLimits {
  readonly timers: number
  readonly bytes: number
  /** How many rows one read asks for. */
  readonly page: number
  readonly lookAheadMs: number
}

/** The approximate size of a timer without a payload. */
const lightestBytes = 600

export class Room {
  #bounds: WindowLimits
  #timersHeld = 0
  #bytesHeld = 0
  #timersFlying = 0
  #bytesFlying = 0

  constructor(limits: WindowLimits) {
    this.#bounds = fitting(limits)
  }

  get limits(): WindowLimits {
    return this.#bounds
  }

  resize(limits: WindowLimits): void {
    this.#bounds = fitting(limits)
  }

  get bytes(): number {
    return this.#bytesHeld
  }

  get timersAtRest(): number {
    return this.#timersHeld - this.#timersFlying
  }

  get bytesAtRest(): number {
    return this.#bytesHeld - this.#bytesFlying
  }

  /** How many timers fit in total, at their current average size. */
  get capacity(): number {
    return Math.max(1, Math.min(this.#bounds.timers, Math.floor(this.#bounds.bytes / this.#averageBytes)))
  }

  get isHalfFull(): boolean {
    return this.timersAtRest >= this.#bounds.timers / 2 || this.bytesAtRest >= this.#bounds.bytes / 2
  }

  get isOverfull(): boolean {
    return this.timersAtRest > this.#bounds.timers || this.bytesAtRest > this.#bounds.bytes
  }

  add({ bytes }: Entry): void {
    this.#timersHeld++
    this.#bytesHeld += bytes
  }

  remove({ bytes }: Entry): void {
    this.#timersHeld--
    this.#bytesHeld -= bytes
  }

  takeOff({ bytes }: Entry): void {
    this.#timersFlying++
    this.#bytesFlying += bytes
  }

  land({ bytes }: Entry): void {
    this.#timersFlying--
    this.#bytesFlying -= bytes
  }

  /**
   * How many timers still fit, by count and by bytes at their current average size. The first is known to have
   * `firstBytes`. One timer always fits into an empty window, because otherwise nothing behind it would ever be read.
   */
  free(firstBytes: number): number {
    if (this.timersAtRest <= 0) return this.capacity
    const { timers, bytes } = this.#bounds
    const bytesFree = bytes - this.bytesAtRest
    if (bytesFree < firstBytes) return 0
    return Math.floor(Math.min(timers - this.timersAtRest, bytesFree / this.#averageBytes))
  }

  /** How many of the waiting entries (in due order) fit into this part of the limits, besides the ready ones. */
  keepable(waiting: ReadonlyArray<Entry>, part: number): number {
    const mostTimers = Math.floor(this.#bounds.timers * part)
    const mostBytes = Math.floor(this.#bounds.bytes * part)
    let timers = this.timersAtRest
    let bytes = this.bytesAtRest
    let kept = waiting.length
    while (kept > 0 && timers > 1 && (timers > mostTimers || bytes > mostBytes)) {
      kept--
      timers--
      bytes -= waiting[kept]?.bytes ?? 0
    }
    return kept
  }

  get #averageBytes(): number {
    return this.#timersHeld === 0 ? lightestBytes : this.#bytesHeld / this.#timersHeld
  }
}

/** Limits the page to a small part of the window. Otherwise one of many shards could never load a page. */
const fitting = (limits: WindowLimits): WindowLimits => ({
  ...limits,
  page: Math.max(1, Math.min(limits.page, Math.floor(limits.timers / 4))),
})
