// Timers that wait for an attempt, by namespace. Timers for hosts that are full or failing wait in separate queues.

import { DueHeap } from "../window/DueHeap.ts"
import type { Entry } from "../window/Entry.ts"
import { Breaker, type BreakerPolicy } from "./Breaker.ts"

export class HostQueue {
  readonly name: string
  readonly parked = new DueHeap<Entry>()
  readonly breaker: Breaker
  /** Whether there is a subscriber, a handler or a key, as the deliverer needs it. */
  readonly isThere: () => boolean
  inFlight = 0
  #absentSinceMs: number | undefined

  constructor(name: string, policy: BreakerPolicy, isThere: () => boolean) {
    this.name = name
    this.breaker = new Breaker(policy)
    this.isThere = isThere
  }

  /** Whether the deliverer cannot deliver to the namespace now. `nowMs` is the wall clock. */
  isAbsent(nowMs: number): boolean {
    this.#absentSinceMs = this.isThere() ? undefined : (this.#absentSinceMs ?? nowMs)
    return this.#absentSinceMs !== undefined
  }

  /** Since when due timers cannot be delivered, by the wall clock. */
  get absentSinceMs(): number | undefined {
    return this.#absentSinceMs
  }

  get isIdle(): boolean {
    return this.inFlight === 0 && this.parked.size === 0
  }
}

export class NamespaceQueue {
  readonly ready = new DueHeap<Entry>()
  readonly hosts = new Map<string, HostQueue>()
  readonly name: string
  inFlight = 0

  constructor(name: string) {
    this.name = name
  }
}
