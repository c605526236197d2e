// Gives each attempt a slot that fits what is known about its host, and learns from the end of the attempt (Slots.ts).
import type { HostEvidence } from "../../domain/Delivery.ts"
import type { Entry } from "../window/Entry.ts"
import type { HostQueue, NamespaceQueue } from "./DispatchQueues.ts"
import { HostStandings } from "./HostStandings.ts"
import { type Slot, type SlotClass, type SlotLimits, Slots, slotClassOf } from "./Slots.ts"
import { SlotWaiters } from "./SlotWaiters.ts"

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
  find(namespace: NamespaceQueue, host: HostQueue, { timer }: Entry): SlotClass | undefined {
    if (host.silentAfterMs === Number.POSITIVE_INFINITY) return "fast"
    const { target } = timer.spec
    const slotClass = slotClassOf(host.standing, "timeoutMs" in target ? target.timeoutMs : 0)
    if (this.#slots.hasRoomFor(slotClass, namespace.slots)) return slotClass
    this.waiters.add(slotClass, host, namespace)
    return undefined
  }

  take(namespace: NamespaceQueue, host: HostQueue, slotClass: SlotClass): Slot {
    const { silentAfterMs } = host
    const silentAtMs =
      silentAfterMs === Number.POSITIVE_INFINITY ? silentAfterMs : this.#nowMs() + silentAfterMs
    return this.#slots.take(slotClass, namespace.slots, silentAtMs, () => {
      host.silentInFlight++
    })
  }

  release(namespace: NamespaceQueue, host: HostQueue, slot: Slot, evidence: HostEvidence): void {
    this.#slots.release(slot)
    if (slot.isSilent) host.silentInFlight--
    if (slot.silentAtMs === Number.POSITIVE_INFINITY || evidence === "nothing") return
    const isSilent = slot.isSilent || this.#nowMs() >= slot.silentAtMs
    const standing = isSilent ? "silent" : evidence === "failed" ? "unknown" : "answers"
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

  /** Lets hosts go on that waited for a slot. */
  releaseWaiters(release: (host: HostQueue, namespace: NamespaceQueue) => void): void {
    this.waiters.releaseAll(this.#slots, release)
  }
}
