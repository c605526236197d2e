// How much of its bounds a window uses, in timers and in bytes, and how much still fits. What counts is what is at
// rest, waiting or ready: attempts under way have a bound of their own, and must not keep others out.
import type { Entry } from "./Entry.ts"

export interface WindowLimits {
  readonly timers: number
  readonly bytes: number
  /** How many rows one read asks for. */
  readonly page: number
  readonly lookAheadMs: number
}

/** What a timer without a payload weighs, roughly. */
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

  /** How many timers fit in all, at their present average. */
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
   * How many timers still fit, by count and by bytes at their present average, of which the first is known to
   * weigh so much. One always fits into an empty window, or nothing behind it would ever be read.
   */
  free(firstBytes: number): number {
    if (this.timersAtRest <= 0) return this.capacity
    const { timers, bytes } = this.#bounds
    const bytesFree = bytes - this.bytesAtRest
    if (bytesFree < firstBytes) return 0
    return Math.floor(Math.min(timers - this.timersAtRest, bytesFree / this.#averageBytes))
  }

  /** Of waiting entries in due order, how many may stay within so much of the bounds, what is ready included. */
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

/** A page is a small part of the window, whatever was set: else a share of many shards could never load one. */
const fitting = (limits: WindowLimits): WindowLimits => ({
  ...limits,
  page: Math.max(1, Math.min(limits.page, Math.floor(limits.timers / 4))),
})
