// The latest events of one node, numbered without gaps, so that a reader can continue after a short interruption. It
// keeps a limited number of events for a limited time. A reader that asks for older ones learns that they are missing.
import type { TimerEvent } from "../../domain/TimerEvent.ts"

export interface HeardEvent {
  readonly event: TimerEvent
  /** Monotonic. */
  readonly heardAtMs: number
}

export interface EventPage {
  /** The number of the event before the first one of the page. */
  readonly exclusiveAfter: number
  /** Numbered from `exclusiveAfter` + 1. */
  readonly events: ReadonlyArray<HeardEvent>
}

export interface EventRingLimits {
  readonly eventsMax: number
  readonly keptMs: number
}

/** Slots of dropped events are freed together when there are this many. */
const freedAtOnce = 1_024

export class EventRing {
  readonly #limits: EventRingLimits
  #kept: Array<HeardEvent> = []
  /** The place of the first event in `#kept` that still counts. */
  #head = 0
  #last: number

  /** `last`: the number of the last event that is not in the ring. */
  constructor(limits: EventRingLimits, last = 0) {
    this.#limits = limits
    this.#last = last
  }

  /** The number of the latest event. */
  get last(): number {
    return this.#last
  }

  get size(): number {
    return this.#kept.length - this.#head
  }

  push(event: TimerEvent, nowMs: number): void {
    this.#kept.push({ event, heardAtMs: nowMs })
    this.#last++
    if (this.size > this.#limits.eventsMax) this.#head++
    this.#dropOld(nowMs)
  }

  /** Forgets everything. Events were missed, so nobody can continue from before. */
  restart(last = this.#last + 1): void {
    this.#kept = []
    this.#head = 0
    this.#last = last
  }

  /** The events after the number, as far as they are kept. If some are not, the page begins later than asked. */
  after(exclusiveAfter: number, limit = Number.POSITIVE_INFINITY): EventPage {
    const oldest = this.#last - this.size
    const begin = Math.min(this.#last, Math.max(oldest, exclusiveAfter))
    const from = this.#head + begin - oldest
    return { exclusiveAfter: begin, events: this.#kept.slice(from, from + limit) }
  }

  /** Whether everything after the number is kept. A number that the ring has not reached is not from this ring. */
  covers(exclusiveAfter: number): boolean {
    return exclusiveAfter >= this.#last - this.size && exclusiveAfter <= this.#last
  }

  #dropOld(nowMs: number): void {
    const oldestMs = nowMs - this.#limits.keptMs
    while (this.size > 0 && (this.#kept[this.#head]?.heardAtMs ?? nowMs) < oldestMs) this.#head++
    if (this.#head < freedAtOnce || this.#head * 2 < this.#kept.length) return
    this.#kept = this.#kept.slice(this.#head)
    this.#head = 0
  }
}
