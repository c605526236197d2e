// The events of one other node, as far as they have arrived here. They are kept for readers that come back.
import type { TimerEvent } from "../../domain/TimerEvent.ts"
import type { PeerEventsPage } from "../../ports/PeerEvents.ts"
import type { PeerNode } from "../../ports/Peers.ts"
import type { EventPosition } from "./EventFeed.ts"
import { EventRing, type EventRingLimits, type HeardEvent } from "./EventRing.ts"

/** The two clocks at one moment: monotonic, and the time of day in which events have their instants. */
export interface EventTimes {
  readonly nowMs: number
  readonly wallMs: number
}

export class PeerSource {
  readonly to: PeerNode
  /** The node has not answered the last question. */
  isMissing = false
  /** Nothing is known about the node yet. */
  isNew = true
  readonly #limits: EventRingLimits
  readonly #resume: EventPosition
  #feed = ""
  #ring: EventRing

  /** `resume`: where the first reader continues. */
  constructor(to: PeerNode, resume: EventPosition, limits: EventRingLimits) {
    this.to = to
    this.#resume = resume
    this.#limits = limits
    this.#ring = new EventRing(limits)
  }

  /** The process of the node that numbers the events. Empty if the node has not answered yet. */
  get feed(): string {
    return this.#feed
  }

  get ring(): EventRing {
    return this.#ring
  }

  /** What the node is asked for. */
  get position(): EventPosition {
    return this.#feed === "" ? this.#resume : new Map([[this.#feed, this.#ring.last]])
  }

  /** Keeps the events of a page. Returns those that are new, and whether they follow the last ones without a gap. */
  take(
    page: PeerEventsPage,
    { nowMs, wallMs }: EventTimes,
  ): { readonly events: ReadonlyArray<HeardEvent>; readonly isWhole: boolean } {
    const isFirst = page.feed !== this.#feed
    const isWhole = !isFirst && page.exclusiveAfter === this.#ring.last
    this.#feed = page.feed
    this.isMissing = false
    if (!isWhole) this.#ring = new EventRing(this.#limits, page.exclusiveAfter)
    for (const event of page.events) {
      // The first page may have the events of a minute, and each counts for its own second.
      this.#ring.push(event, isFirst ? nowMs - ageMs(event, wallMs, this.#limits.keptMs) : nowMs)
    }
    return { events: this.#ring.after(page.exclusiveAfter).events, isWhole }
  }
}

/** The clocks of nodes differ a little, so an event can seem to come from the future. */
const ageMs = ({ at }: TimerEvent, wallMs: number, mostMs: number): number =>
  Math.min(Math.max(0, wallMs - at), mostMs)
