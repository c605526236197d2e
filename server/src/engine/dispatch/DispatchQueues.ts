// Timers that wait for an attempt, by namespace. Timers for hosts that are full or failing wait in separate queues.

import { DueHeap } from "../window/DueHeap.ts"
import type { Entry } from "../window/Entry.ts"
import { Breaker, type BreakerPolicy } from "./Breaker.ts"
import type { Standing } from "./HostStandings.ts"
import { type SlotClass, SlotUse } from "./Slots.ts"

/** What a host queue needs to know about its deliverer. */
export interface HostTraits {
  /** Whether there is a subscriber, a handler or a key, as the deliverer needs it. */
  readonly isThere: () => boolean
  /** An attempt without an answer for this long is silent. Infinity: attempts never count as silent. */
  readonly silentAfterMs: number
  /** What the last attempt showed. */
  readonly standing: Standing
}

export class HostQueue {
  readonly name: string
  readonly parked = new DueHeap<Entry>()
  /** Refused timers that wait until another postponement may begin (RefusedTimers.ts). */
  readonly toPostpone = new DueHeap<Entry>()
  readonly breaker: Breaker
  readonly isThere: () => boolean
  readonly silentAfterMs: number
  /** What the last attempt showed. */
  lastStanding: Standing
  inFlight = 0
  /** Attempts in flight that have been silent for a long time. */
  silentInFlight = 0
  /** The slots that its timers wait for; `undefined` if they do not wait for slots. */
  waitsFor: SlotClass | undefined
  #absentSinceMs: number | undefined

  constructor(name: string, policy: BreakerPolicy, { isThere, silentAfterMs, standing }: HostTraits) {
    this.name = name
    this.breaker = new Breaker(policy)
    this.isThere = isThere
    this.silentAfterMs = silentAfterMs
    this.lastStanding = standing
  }

  get standing(): Standing {
    return this.silentInFlight > 0 ? "silent" : this.lastStanding
  }

  /** One of its attempts has become silent. */
  readonly onSilent = (): void => {
    this.silentInFlight++
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
    return this.inFlight === 0 && this.parked.size === 0 && this.toPostpone.size === 0
  }
}

export class NamespaceQueue {
  readonly ready = new DueHeap<Entry>()
  readonly hosts = new Map<string, HostQueue>()
  readonly name: string
  readonly slots = new SlotUse()
  inFlight = 0
  /** Its postponements that wait for the store. */
  postponing = 0
  /** One of its hosts has answered. */
  isKnown: boolean
  #kept: HostQueue | undefined

  constructor(name: string, isKnown: boolean) {
    this.name = name
    this.isKnown = isKnown
  }

  /**
   * Keeps this host, though it may be idle, and returns the one that is not kept any more. The attempts of a handler end
   * at once, so without this a namespace with many due timers would make its host anew for each of them.
   */
  keep(host: HostQueue | undefined): HostQueue | undefined {
    const before = this.#kept
    this.#kept = host
    return before === host ? undefined : before
  }
}
