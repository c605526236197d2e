// The events of the timers that this node owns. The engine tells them where writes are answered and where attempts start.
// While nobody listens, that costs one check of a flag. The feed keeps events for a minute after the last listener has
// gone, so that a listener that comes back can continue.
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { Timer } from "../../domain/Timer.ts"
import { eventOfAnswer, type TimerEvent } from "../../domain/TimerEvent.ts"
import type { WriteAnswer, WriteItem } from "../../domain/WriteItem.ts"
import { type EventPage, EventRing, type EventRingLimits } from "./EventRing.ts"

/** Where a reader stands in the feeds that it has seen: the number of the last event, by feed. */
export type EventPosition = ReadonlyMap<string, number>

export interface FeedPage extends EventPage {
  /** The feed that numbers the events. Each process has its own. */
  readonly feed: string
}

/** How long events are kept, and how many at most. */
export const keptEvents: EventRingLimits = { eventsMax: 10_000, keptMs: 60_000 }

/** Events that follow the first one soon go out with it. */
const gatherMs = 20

export class EventFeed {
  readonly id = randomBytes(6).toString("hex")
  /** Monotonic. */
  readonly nowMs: () => number
  readonly #ring: EventRing
  readonly #waiting = new Set<() => void>()
  #isHeard = false
  #heardUntilMs = Number.NEGATIVE_INFINITY
  #listener: ((event: TimerEvent, number: number, nowMs: number) => void) | undefined

  constructor(nowMs: () => number, limits: EventRingLimits = keptEvents) {
    this.nowMs = nowMs
    this.#ring = new EventRing(limits)
  }

  /** Whether events are worth telling. The engine checks it before it makes an event. */
  get isHeard(): boolean {
    return this.#isHeard
  }

  /** What is kept, for reading only. */
  get ring(): EventRing {
    return this.#ring
  }

  /** Somebody listens, now and for as long as events are kept. */
  hear(): void {
    this.#isHeard = true
    this.#heardUntilMs = this.nowMs() + keptEvents.keptMs
  }

  /** The only listener in this process gets each event at once. */
  listen(listener: ((event: TimerEvent, number: number, nowMs: number) => void) | undefined): void {
    this.#listener = listener
  }

  /** An answered write. `knownFireId`: the arming of its key that was in memory. */
  answered(item: WriteItem, answer: WriteAnswer, knownFireId: string | undefined): void {
    const event = eventOfAnswer(item, answer, knownFireId)
    if (event !== undefined) this.#tell(event)
  }

  started({ namespace, timerId, fireId }: Timer, at: number): void {
    this.#tell({ type: "started", namespace, timerId, fireId, at, state: "inFlight" })
  }

  /** The events after the position. If the position does not know this feed, the page is empty and begins now. */
  #after(position: EventPosition, limit: number): FeedPage {
    const exclusiveAfter = position.get(this.id) ?? this.#ring.last
    return { feed: this.id, ...this.#ring.after(exclusiveAfter, limit) }
  }

  /**
   * For another node: the events after its position, at most `limit`. If it knows this feed and there is no event yet, it
   * waits for one, at most `holdMs`.
   */
  next(position: EventPosition, limit: number, holdMs: number): Effect.Effect<FeedPage> {
    return Effect.suspend(() => {
      this.hear()
      const page = this.#after(position, limit)
      if (page.events.length > 0 || page.exclusiveAfter !== position.get(this.id)) return Effect.succeed(page)
      return this.#told.pipe(
        Effect.andThen(Effect.sleep(gatherMs)),
        Effect.timeoutOption(holdMs),
        Effect.map(() => this.#after(position, limit)),
      )
    })
  }

  readonly #told: Effect.Effect<void> = Effect.callback((resume) => {
    const wake = () => resume(Effect.void)
    this.#waiting.add(wake)
    return Effect.sync(() => {
      this.#waiting.delete(wake)
    })
  })

  #tell(event: TimerEvent): void {
    const nowMs = this.nowMs()
    if (nowMs >= this.#heardUntilMs) {
      // This event is the first of those that the feed does not hear.
      this.#isHeard = false
      this.#ring.restart()
      return
    }
    this.#ring.push(event, nowMs)
    this.#listener?.(event, this.#ring.last, nowMs)
    if (this.#waiting.size === 0) return
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }
}
