// The slots in which attempts run. Hosts that do not answer must not take all of them, so attempts differ by what is known
// about their host:
//
// - fast: the host answered or refused its last attempt. These attempts may use every normal slot.
// - trial: nothing is known about the host. These attempts use additional slots, and then at most half of the normal ones.
// - slow: the host was silent for a long time. These attempts use only slow slots, which are additional.
//
// An attempt without an answer for a long time moves to a slow slot, and its own slot is free again. If no slow slot is
// free, the attempt keeps its slot until a slow slot becomes free, or until another attempt needs the slot: then the
// dispatcher abandons the attempt that has been silent longest. Moving changes only the accounting: the attempt goes on.
// Within trial and slow slots a namespace leaves as many slots free as it uses, so that the next one finds room.
// docs/adr/0055 has the analysis.
import type { Standing } from "./HostStandings.ts"

export type SlotClass = "fast" | "trial" | "slow"

export interface SlotLimits {
  readonly inFlight: number
  /** Additional slots for silent hosts. 0: every attempt uses a normal slot. */
  readonly slow: number
  /** Additional slots for trials. */
  readonly trial: number
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
  /** The attempt was ended because others needed its slot. */
  isAbandoned: boolean
  /** The attempt has become silent. */
  readonly onSilent: () => void
  /** Ends the attempt. It is set when the attempt has started. */
  end: () => void
}

const slotClasses = { answers: "fast", fails: "fast", silent: "slow", unknown: "trial" } as const

export const slotClassOf = (standing: Standing): SlotClass => slotClasses[standing]

const notStarted = () => {}

export class Slots {
  readonly #limits: SlotLimits
  #fast = 0
  #trial = 0
  #slow = 0
  /** Attempts that may become silent, in the order of their starts. */
  readonly #fresh = new Set<Slot>()
  /** Silent attempts that wait in their own slots for a slow slot. */
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
    const { inFlight, slow, trial } = this.#limits
    if (slotClass === "fast") return inFlight
    return slotClass === "slow" ? Math.max(1, slow) : Math.max(1, trial + Math.floor(inFlight / 2))
  }

  room(slotClass: SlotClass): number {
    const { inFlight, trial } = this.#limits
    if (slotClass === "slow") return this.most("slow") - this.#slow
    if (slotClass === "fast") return inFlight - this.#fast - Math.max(0, this.#trial - trial)
    return Math.min(this.most("trial") - this.#trial, inFlight + trial - this.#fast - this.#trial)
  }

  /** Whether the namespace may use one more slot of the class. */
  hasRoomFor(slotClass: SlotClass, use: SlotUse): boolean {
    const used = slotClass === "fast" ? 0 : slotClass === "slow" ? use.slow : use.trial
    return this.room(slotClass) > used
  }

  take(slotClass: SlotClass, use: SlotUse, silentAtMs: number, onSilent: () => void): Slot {
    const slot: Slot = {
      class: slotClass,
      use,
      silentAtMs,
      isSilent: false,
      isAbandoned: false,
      onSilent,
      end: notStarted,
    }
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

  /**
   * Ends silent attempts that have found no slow slot, the oldest first, so that attempts of the class get room. `uses` are
   * the namespaces that need it. If the class has room, a namespace gets more only from its own attempts.
   */
  abandonFor(slotClass: "fast" | "trial", uses: ReadonlyArray<SlotUse>): void {
    const isFull = this.room(slotClass) <= 0
    let left = uses.length
    for (const slot of [...this.#overdue]) {
      if (left <= 0) return
      if (!this.#holdsRoomOf(slotClass, slot) || !(isFull || uses.includes(slot.use))) continue
      left--
      this.#overdue.delete(slot)
      slot.isAbandoned = true
      slot.end()
    }
  }

  /** Trials beyond the additional slots use normal ones. */
  #holdsRoomOf(slotClass: "fast" | "trial", slot: Slot): boolean {
    return slot.class === slotClass || (slotClass === "fast" && this.#trial > this.#limits.trial)
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
    if (slot.class === "fast") {
      this.#fast += by
    } else if (slot.class === "slow") {
      this.#slow += by
      slot.use.slow += by
    } else {
      this.#trial += by
      slot.use.trial += by
    }
  }
}
