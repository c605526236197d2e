// The slots in which attempts run. Hosts that do not answer must not take all of them, so attempts differ by what is known
// about their host:
//
// - fast: the host answered its last attempt. These attempts may use every fast slot.
// - trial: nothing is known about the host. At most half of the fast slots are for trials.
// - longTrial: a trial that may take longer than most. At most as many as there are slow slots.
// - slow: the host was silent for a long time. These attempts use only slow slots, which are additional.
//
// An attempt without an answer for a long time moves to a slow slot, and its fast slot is free again. If no slow slot is
// free, the attempt keeps its fast slot until a slow slot becomes free. Moving changes only the accounting: the attempt
// goes on. Within trial and slow slots a namespace leaves as many slots free as it uses, so that the next one finds room.
// docs/adr/0055 has the analysis.
import type { Standing } from "./HostStandings.ts"

export type SlotClass = "fast" | "trial" | "longTrial" | "slow"

export interface SlotLimits {
  readonly inFlight: number
  /** Additional slots for silent hosts. 0: every attempt uses a fast slot. */
  readonly slow: number
}

/** The trial and slow slots that a namespace uses. */
export class SlotUse {
  trial = 0
  slow = 0
}

/** The slot of one attempt. */
export interface Slot {
  class: SlotClass
  readonly use: SlotUse
  /** When the attempt counts as silent, in monotonic milliseconds. */
  readonly silentAtMs: number
  isSilent: boolean
  /** The attempt has become silent. */
  readonly onSilent: () => void
}

/** A trial with a longer timeout than this is a long trial. It is the default timeout of a webhook. */
const longTrialMs = 15_000

export const slotClassOf = (standing: Standing, timeoutMs: number): SlotClass => {
  if (standing === "answers") return "fast"
  if (standing === "silent") return "slow"
  return timeoutMs > longTrialMs ? "longTrial" : "trial"
}

export class Slots {
  readonly #limits: SlotLimits
  #fast = 0
  #trial = 0
  #longTrial = 0
  #slow = 0
  /** Attempts that may become silent, in the order of their starts. */
  readonly #fresh = new Set<Slot>()
  /** Silent attempts that wait in their fast slots for a slow slot. */
  readonly #overdue = new Set<Slot>()

  constructor(limits: SlotLimits) {
    this.#limits = limits
  }

  /** How many attempts are silent, or run in slow slots because their host was silent. */
  get slowCount(): number {
    return this.#slow + this.#overdue.size
  }

  /** The number of slots of a class. */
  most(slotClass: SlotClass): number {
    const { inFlight, slow } = this.#limits
    if (slotClass === "fast") return inFlight
    if (slotClass === "trial") return Math.max(1, Math.floor(inFlight / 2))
    return Math.max(1, slow)
  }

  room(slotClass: SlotClass): number {
    const fast = this.most("fast") - this.#fast
    if (slotClass === "fast") return fast
    if (slotClass === "slow") return this.most("slow") - this.#slow
    const trial = Math.min(fast, this.most("trial") - this.#trial)
    return slotClass === "trial" ? trial : Math.min(trial, this.most("longTrial") - this.#longTrial)
  }

  /** Whether the namespace may use one more slot of the class. */
  hasRoomFor(slotClass: SlotClass, use: SlotUse): boolean {
    const used = slotClass === "fast" ? 0 : slotClass === "slow" ? use.slow : use.trial
    return this.room(slotClass) > used
  }

  take(slotClass: SlotClass, use: SlotUse, silentAtMs: number, onSilent: () => void): Slot {
    const slot: Slot = { class: slotClass, use, silentAtMs, isSilent: false, onSilent }
    this.#count(slot, 1)
    if (silentAtMs !== Number.POSITIVE_INFINITY) this.#fresh.add(slot)
    return slot
  }

  release(slot: Slot): void {
    this.#fresh.delete(slot)
    this.#overdue.delete(slot)
    this.#count(slot, -1)
    if (slot.class === "slow") this.#moveOverdue()
  }

  /** Notes the attempts that have become silent, and moves them to slow slots. */
  noteSilent(nowMs: number): void {
    for (const slot of this.#fresh) {
      if (nowMs < slot.silentAtMs) break
      this.#fresh.delete(slot)
      slot.isSilent = true
      slot.onSilent()
      if (slot.class !== "slow") this.#overdue.add(slot)
    }
    this.#moveOverdue()
  }

  /** The oldest move first. */
  #moveOverdue(): void {
    for (const slot of this.#overdue) {
      if (this.room("slow") <= 0) return
      if (!this.hasRoomFor("slow", slot.use)) continue
      this.#overdue.delete(slot)
      this.#count(slot, -1)
      slot.class = "slow"
      this.#count(slot, 1)
    }
  }

  #count(slot: Slot, by: 1 | -1): void {
    if (slot.class === "slow") {
      this.#slow += by
      slot.use.slow += by
      return
    }
    this.#fast += by
    if (slot.class === "fast") return
    this.#trial += by
    slot.use.trial += by
    if (slot.class === "longTrial") this.#longTrial += by
  }
}
