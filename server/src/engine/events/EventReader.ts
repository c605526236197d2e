// One reader of events. It gets the events that it wants, at most a certain number for each second, and counts of the
// rest. A reader that does not take its events gets counts too, so what waits for it is bounded. Nobody waits for a
// reader.
import type { TimerEvent, TimerEventType } from "../../domain/TimerEvent.ts"
import type { EventPosition } from "./EventFeed.ts"

export type EventCounts = Readonly<Partial<Record<TimerEventType, number>>>

/** What a reader gets. With `position` a reader can continue later. Without it, the last one still holds. */
export type ReaderItem =
  | { readonly kind: "event"; readonly event: TimerEvent; readonly position: string }
  /** Events that were not sent, because there were too many. */
  | { readonly kind: "skipped"; readonly counts: EventCounts; readonly position: string }
  /** Events may be missing before this point. */
  | { readonly kind: "gap"; readonly position?: string }
  /** Nodes whose events do not arrive. */
  | { readonly kind: "nodes"; readonly missing: ReadonlyArray<string>; readonly position?: string }

export interface EventReaderLimits {
  /** How many events a reader gets of each second. */
  readonly perSecondMax: number
  /** How many events wait for the reader. */
  readonly waitingMax: number
}

export const eventReaderLimits: EventReaderLimits = { perSecondMax: 50, waitingMax: 1_000 }

export interface EventReaderOptions {
  readonly wants: (event: TimerEvent) => boolean
  /** There is something to take. */
  readonly onReady: () => void
  /** How long before a full second the seconds of this reader begin. */
  readonly phaseMs?: number
  readonly limits?: EventReaderLimits
}

export class EventReader {
  readonly #options: EventReaderOptions
  readonly #limits: EventReaderLimits
  readonly #position = new Map<string, number>()
  #events: Array<Extract<ReaderItem, { kind: "event" }>> = []
  #skipped: Partial<Record<TimerEventType, number>> | undefined
  #missing: ReadonlyArray<string> | undefined
  #shownMissing = ""
  #hasGap = false
  /** The second that `#given` counts. */
  #second = Number.NEGATIVE_INFINITY
  #given = 0

  constructor(options: EventReaderOptions) {
    this.#options = options
    this.#limits = options.limits ?? eventReaderLimits
  }

  /** Where the reader stands, unless events wait for it. */
  get positionText(): string | undefined {
    return this.#events.length > 0 ? undefined : positionText(this.#position)
  }

  /** The reader has seen the feed up to this number. */
  seen(feed: string, number: number): void {
    this.#position.set(feed, number)
  }

  /** The feed has ended. */
  forget(feed: string): void {
    this.#position.delete(feed)
  }

  /** `heardAtMs` is monotonic. Events of the past count for their own second. */
  offer(feed: string, number: number, event: TimerEvent, heardAtMs: number): void {
    this.#position.set(feed, number)
    if (!this.#options.wants(event)) return
    const second = this.#secondOf(heardAtMs)
    if (second !== this.#second) {
      this.#second = second
      this.#given = 0
    }
    if (this.#given >= this.#limits.perSecondMax || this.#events.length >= this.#limits.waitingMax) {
      this.#skipped ??= {}
      this.#skipped[event.type] = (this.#skipped[event.type] ?? 0) + 1
      return
    }
    this.#given++
    this.#events.push({ kind: "event", event, position: positionText(this.#position) })
    this.#options.onReady()
  }

  gap(): void {
    this.#hasGap = true
    this.#options.onReady()
  }

  /** The names are in order. The reader is told if they have changed. */
  missing(names: ReadonlyArray<string>, isFirst = false): void {
    const shown = names.join("\n")
    if (shown === this.#shownMissing && !isFirst) return
    this.#shownMissing = shown
    this.#missing = names
    this.#options.onReady()
  }

  /** Called several times a second. Counts of a second go out when it is over. */
  tick(nowMs: number): void {
    if (this.#skipped !== undefined && this.#secondOf(nowMs) !== this.#second) this.#options.onReady()
  }

  /**
   * What the reader gets now, in order, at most `limit` events. Counts of the current second wait until it is over, and
   * until the reader has taken the events before them.
   */
  take(limit: number, nowMs: number): ReadonlyArray<ReaderItem> {
    const items: Array<ReaderItem> = []
    // The position is ahead of the events that wait.
    const here = this.#events.length > 0 ? {} : { position: positionText(this.#position) }
    if (this.#hasGap) items.push({ kind: "gap", ...here })
    if (this.#missing !== undefined) items.push({ kind: "nodes", missing: this.#missing, ...here })
    this.#hasGap = false
    this.#missing = undefined
    items.push(...this.#events.splice(0, limit))
    const isOver = this.#secondOf(nowMs) !== this.#second
    if (this.#skipped !== undefined && isOver && this.#events.length === 0) {
      items.push({ kind: "skipped", counts: this.#skipped, position: positionText(this.#position) })
      this.#skipped = undefined
    }
    return items
  }

  #secondOf(monotonicMs: number): number {
    return Math.floor((monotonicMs + (this.#options.phaseMs ?? 0)) / 1_000)
  }
}

/** At most this many feeds of a position are read. A cluster has fewer nodes. */
const feedsMax = 64

export const positionText = (position: EventPosition): string =>
  [...position].map(([feed, number]) => `${feed}.${number.toString(36)}`).join(",")

/** `undefined` if the text is not a position. */
export const positionOf = (text: string): EventPosition | undefined => {
  const parts = text.split(",", feedsMax + 1)
  if (parts.length > feedsMax) return undefined
  const position = new Map<string, number>()
  for (const part of parts) {
    const [, feed, number] = /^([0-9a-f]{12})\.([0-9a-z]{1,10})$/.exec(part) ?? []
    if (feed === undefined || number === undefined) return undefined
    position.set(feed, Number.parseInt(number, 36))
  }
  return position
}
