// The changes of one tenant's calls, for the open streams of this tenant. Each reader has a short queue in which a newer
// version of a call replaces an older one. If the queue is full, the reader is told that changes are missing. So a slow
// reader costs little memory and never delays others.
import { CallEventData } from "@punctual/api/agent/callEventPaths"
import type { OpenEvents } from "@punctual/http/EventStream"
import { eventFrame } from "@punctual/http/eventFrame"
import { SchemaParser } from "effect"
import type { CallEvent } from "../calls/ServiceCalls.ts"
import { callView } from "./callView.ts"

/** An event as text, or a gap. */
export interface FeedItem {
  readonly text: string
  /** When the change was stored; absent for a gap. */
  readonly at?: number
}

export interface CallFeedOptions {
  readonly watch: (listener: (event: CallEvent) => void) => () => void
  /** Changes after a time, oldest first, at most `changesMax`. Never fails: without an answer it is `undefined`. */
  readonly changesAfter: (exclusiveAfter: number) => Promise<ReadonlyArray<CallEvent> | undefined>
  readonly changesMax: number
  /** The longest queue of a reader. */
  readonly queueMax: number
}

const encodeEvent = SchemaParser.encodeUnknownSync(CallEventData)

interface Change {
  readonly id: string
  readonly version: number
  readonly item: FeedItem
}

const changeOf = ({ at, call }: CallEvent): Change => ({
  id: call.serviceCallId,
  version: call.version,
  item: {
    at,
    text: eventFrame(
      "call",
      new Date(at).toISOString(),
      JSON.stringify(encodeEvent({ at, call: callView(call) })),
    ),
  },
})

const gap: FeedItem = { text: eventFrame("gap", undefined, "{}") }

class FeedReader {
  readonly #queueMax: number
  readonly #onReady: () => void
  /** By the id of the call. Oldest first. */
  readonly #queue = new Map<string, Change>()
  #hasGap = false
  #position: string | undefined

  constructor(queueMax: number, onReady: () => void) {
    this.#queueMax = queueMax
    this.#onReady = onReady
  }

  push(change: Change): void {
    const waiting = this.#queue.get(change.id)
    if (waiting !== undefined && waiting.version >= change.version) return
    if (waiting === undefined && this.#queue.size >= this.#queueMax) {
      this.miss()
      return
    }
    this.#queue.delete(change.id)
    this.#queue.set(change.id, change)
    this.#onReady()
  }

  /** Changes are missing. What waits is dropped, because the reader must read the list again anyway. */
  miss(): void {
    this.#queue.clear()
    this.#hasGap = true
    this.#onReady()
  }

  get positionText(): string | undefined {
    return this.#position
  }

  take(max: number): ReadonlyArray<FeedItem> {
    const items: Array<FeedItem> = this.#hasGap ? [gap] : []
    this.#hasGap = false
    for (const [id, { item }] of this.#queue) {
      if (items.length >= max) break
      this.#queue.delete(id)
      items.push(item)
      if (item.at !== undefined) this.#position = new Date(item.at).toISOString()
    }
    return items
  }
}

export class CallFeed {
  readonly #options: CallFeedOptions
  readonly #readers = new Set<FeedReader>()
  /** The version of each call that readers got last, newest at the end. */
  readonly #seen = new Map<string, number>()
  #stop: (() => void) | undefined
  #isPolling = false
  #lastAt: number | undefined

  constructor(options: CallFeedOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0
  }

  /** `exclusiveAfter`: the reader also gets the changes since then. */
  open(onReady: () => void, exclusiveAfter: number | undefined): OpenEvents<FeedItem> {
    const reader = new FeedReader(this.#options.queueMax, onReady)
    this.#readers.add(reader)
    this.#stop ??= this.#options.watch((event) => this.#push(event))
    if (exclusiveAfter !== undefined) void this.#repeat(reader, exclusiveAfter)
    return {
      reader,
      close: () => {
        this.#readers.delete(reader)
        if (this.#readers.size > 0) return
        this.#stop?.()
        this.#stop = undefined
        this.#seen.clear()
        this.#lastAt = undefined
      },
    }
  }

  /** Finds changes that other processes made. `nowMs` is the wall time. */
  async poll(nowMs: number, overlapMs: number): Promise<void> {
    if (this.#isPolling || this.isEmpty) return
    this.#isPolling = true
    const changes = await this.#options.changesAfter((this.#lastAt ?? nowMs) - overlapMs)
    this.#isPolling = false
    for (const change of changes ?? []) this.#push(change)
    if ((changes?.length ?? 0) >= this.#options.changesMax) for (const reader of this.#readers) reader.miss()
  }

  async #repeat(reader: FeedReader, exclusiveAfter: number): Promise<void> {
    const changes = await this.#options.changesAfter(exclusiveAfter)
    if (changes === undefined || changes.length >= this.#options.changesMax) reader.miss()
    else for (const change of changes) reader.push(changeOf(change))
  }

  #push(event: CallEvent): void {
    const { serviceCallId, version } = event.call
    if ((this.#seen.get(serviceCallId) ?? -1) >= version) return
    this.#seen.delete(serviceCallId)
    this.#seen.set(serviceCallId, version)
    if (this.#seen.size > seenMax)
      for (const [oldest] of this.#seen.entries().take(1)) this.#seen.delete(oldest)
    this.#lastAt = Math.max(this.#lastAt ?? 0, event.at)
    const change = changeOf(event)
    for (const reader of this.#readers) reader.push(change)
  }
}

/** Clients drop repeats themselves, so a forgotten version does no harm. */
const seenMax = 5_000
