// Gives each attempt a slot that fits what is known about its host, and learns from the end of the attempt (Slots.ts).
import type { HostEvidence } from "../../domain/Delivery.ts"
import type { HostQueue, NamespaceQueue } from "./DispatchQueues.ts"
import { HostStandings, type Standing } from "./HostStandings.ts"
import { type Slot, type SlotClass, type SlotLimits, Slots, type SlotUse, slotClassOf } from "./Slots.ts"
import { looksAtMost, SlotWaiters } from "./SlotWaiters.ts"

export class AttemptSlots {
  readonly standings = new HostStandings()
  readonly waiters = new SlotWaiters()
  readonly #slots: Slots
  readonly #hasSlow: boolean
  /** Monotonic. */
  readonly #nowMs: () => number

  constructor(limits: SlotLimits, nowMs: () => number) {
    this.#slots = new Slots(limits)
    this.#hasSlow = limits.slow > 0
    this.#nowMs = nowMs
  }

  get slowCount(): number {
    return this.#slots.slowCount
  }

  /** Free fast slots. */
  get room(): number {
    return this.#slots.room("fast")
  }

  most(slotClass: SlotClass): number {
    return this.#slots.most(slotClass)
  }

  /** How long an attempt may be silent before it is slow. Infinity if there are no slow slots. */
  silentAfterMs(ofDeliverer: number | undefined): number {
    return this.#hasSlow ? (ofDeliverer ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
  }

  /** A slot for the attempt; `undefined` if none is free. Then the host waits for one. */
  find(namespace: NamespaceQueue, host: HostQueue): SlotClass | undefined {
    if (host.silentAfterMs === Number.POSITIVE_INFINITY) return "fast"
    const slotClass = slotClassOf(host.standing)
    if (this.#slots.hasRoomFor(slotClass, namespace.slots)) return slotClass
    this.waiters.add(slotClass, host, namespace)
    return undefined
  }

  take(namespace: NamespaceQueue, host: HostQueue, slotClass: SlotClass): Slot {
    const { silentAfterMs } = host
    const silentAtMs =
      silentAfterMs === Number.POSITIVE_INFINITY ? silentAfterMs : this.#nowMs() + silentAfterMs
    return this.#slots.take(slotClass, namespace.slots, silentAtMs, host.onSilent)
  }

  release(namespace: NamespaceQueue, host: HostQueue, slot: Slot, evidence: HostEvidence): void {
    this.#slots.release(slot)
    if (slot.isSilent) host.silentInFlight--
    if (evidence === "nothing") return
    const { silentAtMs } = slot
    const isSilent = slot.isSilent || (silentAtMs !== Number.POSITIVE_INFINITY && this.#nowMs() >= silentAtMs)
    const standing = isSilent ? "silent" : standingAfter(evidence, host.lastStanding)
    if (standing === "answers") namespace.isKnown = true
    if (standing === host.lastStanding) return
    host.lastStanding = standing
    this.standings.note(namespace.name, host.name, standing)
    // The timers of the host may need slots of another class now. The dispatcher judges them again.
    this.waiters.forget(host)
  }

  /** Moves attempts that have become silent to slow slots. */
  noteSilent(): void {
    if (this.#hasSlow) this.#slots.noteSilent(this.#nowMs())
  }

  /** Ends silent attempts whose slots others need. `ready` are the namespaces with timers that could start. */
  abandonSilent(ready: Iterable<NamespaceQueue>): void {
    if (!this.#hasSlow) return
    if (this.room <= 0) this.#slots.abandonFor("fast", firstOf(ready))
    this.#slots.abandonFor("trial", this.waiters.first("trial"))
  }

  /** Lets hosts go on that waited for a slot. */
  releaseWaiters(release: (host: HostQueue, namespace: NamespaceQueue) => void): void {
    this.waiters.releaseAll(this.#slots, release)
  }
}

/** A failure that came promptly is an answer: only silence holds slots. Failures are the concern of breakers. */
const standingAfter = (evidence: HostEvidence, last: Standing): Standing => {
  if (evidence === "timedOut") return "unknown"
  return evidence === "failed" && last !== "answers" ? "fails" : "answers"
}

const firstOf = (namespaces: Iterable<NamespaceQueue>): ReadonlyArray<SlotUse> => {
  const uses: Array<SlotUse> = []
  for (const { slots } of namespaces) {
    if (uses.length === looksAtMost) break
    uses.push(slots)
  }
  return uses
}
