// Brings the events of all nodes to the readers of this node. Other nodes are asked only while there are readers here,
// and each is asked once for all readers. A node that does not answer is reported to the readers, and so is every case
// in which events may be missing.
import { Effect, type Fiber, Result } from "effect"
import type { TimerEvent } from "../../domain/TimerEvent.ts"
import type { PeerEvents } from "../../ports/PeerEvents.ts"
import type { PeerNode } from "../../ports/Peers.ts"
import { type EventFeed, type EventPosition, keptEvents } from "./EventFeed.ts"
import { EventReader, type EventReaderOptions, positionOf } from "./EventReader.ts"
import type { EventRing } from "./EventRing.ts"
import { PeerSource } from "./PeerSource.ts"

export interface EventHubParts {
  readonly feed: EventFeed
  /** The time of day, in which events have their instants. */
  readonly wallMs: () => number
  readonly runFork: (effect: Effect.Effect<unknown>) => Fiber.Fiber<unknown>
  /** Absent if only one process uses the store. */
  readonly cluster?: {
    readonly events: PeerEvents["Service"]
    /** The other nodes that may have events now. */
    readonly others: () => ReadonlyArray<PeerNode>
  }
}

export interface OpenEventReader {
  readonly reader: EventReader
  close(): void
}

/** A reader, and how far it has come with the nodes. */
interface Attached {
  readonly reader: EventReader
  /** Where the reader continues. If it is absent, the reader begins now. */
  readonly resume: EventPosition | undefined
  /** The nodes that were there when the reader came, and have not answered since. */
  readonly expected: Set<PeerSource>
  readonly joined: Set<PeerSource>
  /** The reader knows which nodes are missing. */
  isWelcomed: boolean
}

interface FollowedSource {
  readonly source: PeerSource
  readonly fiber: Fiber.Fiber<unknown>
}

/** The wait after a node did not answer. */
const askAgainMs = 500
/** The least time between two questions to a node. */
const leastPauseMs = 20
/** How many events of other nodes are kept, in total. */
const peerEventsMax = 20_000

export class EventHub {
  readonly #parts: EventHubParts
  readonly #readers = new Set<Attached>()
  readonly #sources = new Map<string, FollowedSource>()
  #opened = 0

  constructor(parts: EventHubParts) {
    this.#parts = parts
  }

  /** `resume`: the position of an earlier reader. If the text is not a position, events may be missing. */
  open(options: Omit<EventReaderOptions, "phaseMs">, resume: string | undefined): OpenEventReader {
    const { feed } = this.#parts
    feed.hear()
    const reader = new EventReader({ ...options, phaseMs: phaseMsOf(this.#opened++) })
    const position = resume === undefined ? undefined : (positionOf(resume) ?? new Map<string, number>())
    const attached: Attached = {
      reader,
      resume: position,
      expected: new Set(),
      joined: new Set(),
      isWelcomed: false,
    }
    if (this.#readers.size === 0) feed.listen(this.#onOwnEvent)
    this.#readers.add(attached)
    join(reader, feed.id, feed.ring, position)
    this.#followNodes(position ?? new Map())
    for (const { source } of this.#sources.values()) {
      attached.expected.add(source)
      if (!source.isNew) this.#join(attached, source)
    }
    this.#welcome(attached)
    return { reader, close: () => this.#close(attached) }
  }

  /** Monotonic. The instants of events are in the same time. */
  get nowMs(): () => number {
    return this.#parts.feed.nowMs
  }

  /** Called several times a second while there are readers. */
  tick(): void {
    if (this.#readers.size === 0) return
    const nowMs = this.nowMs()
    this.#parts.feed.hear()
    this.#followNodes(new Map())
    this.#tellMissing()
    for (const { reader } of this.#readers) reader.tick(nowMs)
  }

  readonly #onOwnEvent = (event: TimerEvent, number: number, nowMs: number): void => {
    for (const { reader } of this.#readers) reader.offer(this.#parts.feed.id, number, event, nowMs)
  }

  #close(attached: Attached): void {
    if (!this.#readers.delete(attached) || this.#readers.size > 0) return
    this.#parts.feed.listen(undefined)
    for (const name of [...this.#sources.keys()]) this.#unfollow(name)
  }

  /** Follows every other node. `resume` says where the first reader continues. */
  #followNodes(resume: EventPosition): void {
    const { cluster, runFork } = this.#parts
    if (cluster === undefined) return
    const others = new Map(cluster.others().map((other) => [nameOf(other), other]))
    for (const name of [...this.#sources.keys()]) if (!others.has(name)) this.#unfollow(name)
    const eventsMax = Math.ceil(peerEventsMax / Math.max(2, others.size))
    for (const [name, to] of others) {
      if (this.#sources.has(name)) continue
      const source = new PeerSource(to, resume, { ...keptEvents, eventsMax })
      this.#sources.set(name, { source, fiber: runFork(this.#ask(cluster.events, source)) })
    }
  }

  /** The node is gone, and its last events may not have arrived. */
  #unfollow(name: string): void {
    const followed = this.#sources.get(name)
    if (followed === undefined) return
    this.#sources.delete(name)
    const { source, fiber } = followed
    fiber.interruptUnsafe()
    for (const { reader, expected, joined } of this.#readers) {
      expected.delete(source)
      joined.delete(source)
      reader.forget(source.feed)
      reader.gap()
    }
  }

  #ask(events: PeerEvents["Service"], source: PeerSource): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      // Runs in a turn of its own, so that the reader that comes is known before the first answer.
      yield* Effect.yieldNow
      for (;;) {
        const asked = yield* Effect.result(Effect.suspend(() => events.after(source.to, source.position)))
        if (Result.isSuccess(asked)) self.#arrived(source, asked.success)
        else source.isMissing = true
        source.isNew = false
        self.#tellMissing()
        yield* Effect.sleep(source.isMissing ? askAgainMs : leastPauseMs)
      }
    })
  }

  #arrived(source: PeerSource, page: Parameters<PeerSource["take"]>[0]): void {
    const feedBefore = source.feed
    const times = { nowMs: this.nowMs(), wallMs: this.#parts.wallMs() }
    const { events, isWhole } = source.take(page, times)
    for (const attached of this.#readers) {
      const { reader, joined } = attached
      if (!joined.has(source)) {
        this.#join(attached, source)
        continue
      }
      if (!isWhole) {
        reader.gap()
        if (feedBefore !== source.feed) reader.forget(feedBefore)
      }
      reader.seen(source.feed, page.exclusiveAfter)
      offerAll(reader, source.feed, page.exclusiveAfter, events)
    }
  }

  /** The reader begins with the events of a node, or continues with them. */
  #join({ reader, resume, expected, joined }: Attached, source: PeerSource): void {
    if (source.feed === "") return
    joined.add(source)
    const isExpected = expected.delete(source)
    // The node came later than the reader, or did not answer at first: some of its events were not heard.
    if (!isExpected) reader.gap()
    join(reader, source.feed, source.ring, isExpected ? resume : undefined)
  }

  #welcome(attached: Attached): void {
    if (attached.isWelcomed) return
    const sources = [...this.#sources.values()].map(({ source }) => source)
    if (sources.some(({ isNew }) => isNew)) return
    attached.isWelcomed = true
    // From now on, the first events of these nodes come after a time without them.
    for (const source of sources) if (source.isMissing) attached.expected.delete(source)
    const feeds = new Set([this.#parts.feed.id, ...sources.map(({ feed }) => feed)])
    if (attached.resume?.keys().some((feed) => !feeds.has(feed))) attached.reader.gap()
    attached.reader.missing(this.#missing(), true)
  }

  #tellMissing(): void {
    const missing = this.#missing()
    for (const attached of this.#readers) {
      if (attached.isWelcomed) attached.reader.missing(missing)
      else this.#welcome(attached)
    }
  }

  #missing(): ReadonlyArray<string> {
    return [...this.#sources.values()]
      .flatMap(({ source }) => (source.isMissing ? [source.to.node] : []))
      .sort()
  }
}

/**
 * If many events happen, a reader gets its share at the beginning of its second. If all seconds began together, the texts
 * of all readers would be made together, and timers would wait for them. Open pages also list timers when events arrive.
 * Multiples of this number fill a second evenly, however many readers there are.
 */
const phaseMsOf = (opened: number): number => (opened * 618) % 1_000

/** An address may belong to another node later. */
const nameOf = ({ node, address }: PeerNode): string => `${node} ${address}`

/** `position`: where the reader continues. If it is absent, the reader begins now. */
const join = (
  reader: EventReader,
  feed: string,
  ring: EventRing,
  position: EventPosition | undefined,
): void => {
  const number = position?.get(feed)
  if (number === undefined || !ring.covers(number)) {
    if (position !== undefined) reader.gap()
    reader.seen(feed, ring.last)
    return
  }
  reader.seen(feed, number)
  offerAll(reader, feed, number, ring.after(number).events)
}

const offerAll = (
  reader: EventReader,
  feed: string,
  exclusiveAfter: number,
  events: ReturnType<EventRing["after"]>["events"],
): void => {
  for (const [place, { event, heardAtMs }] of events.entries()) {
    reader.offer(feed, exclusiveAfter + place + 1, event, heardAtMs)
  }
}
