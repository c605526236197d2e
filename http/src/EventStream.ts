// One open stream of events: the text for one client. The client's reading decides when the next text is made. If the
// client does not read, its events become counts, and the connection's own limit closes it after a while. Texts are
// made on the thread of all other work, so events that follow the first one soon go into the same text.
import { beatText, streamHead } from "./eventFrame.ts"

/** Where the events come from. The reader keeps a limited number of them, and decides what a slow client misses. */
export interface OpenEvents<Item> {
  readonly reader: {
    /** At most `max` events, oldest first. */
    take(max: number, nowMs: number): ReadonlyArray<Item>
    /** Where the reader is, for a client that connects again. */
    readonly positionText: string | undefined
  }
  close(): void
}

export interface EventStreamOptions<Item> {
  /** The reader calls `onReady` when it has events. */
  readonly open: (onReady: () => void) => OpenEvents<Item>
  /** An event as a frame (eventFrame.ts). */
  readonly textOf: (item: Item) => string
  /** Monotonic. */
  readonly nowMs: () => number
  readonly onSent: (items: ReadonlyArray<Item>) => void
  /** Called once. */
  readonly onEnd: () => void
  /** Waits for further events after the first one. */
  readonly gather?: () => Promise<unknown>
}

/** Without an event for this long, the stream sends a comment. */
export const beatMs = 15_000

/** How many events are written at once. */
const eventsAtOnce = 100

const gatherMs = 20

const gatherForSomeTime = () => new Promise((resolve) => setTimeout(resolve, gatherMs))

export class EventStream<Item> {
  readonly #options: EventStreamOptions<Item>
  readonly #open: OpenEvents<Item>
  #wake: (() => void) | undefined
  #sentAtMs: number
  #isEnded = false

  constructor(options: EventStreamOptions<Item>) {
    this.#options = options
    this.#sentAtMs = options.nowMs()
    this.#open = options.open(() => this.#wake?.())
  }

  /** Sends nothing more. What waits is dropped. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#open.close()
    this.#options.onEnd()
    this.#wake?.()
  }

  /** Called several times a second. */
  tick(nowMs: number): void {
    if (nowMs - this.#sentAtMs >= beatMs) this.#wake?.()
  }

  async *text(): AsyncGenerator<string> {
    const { gather = gatherForSomeTime } = this.#options
    try {
      yield streamHead
      while (!this.#isEnded) {
        const next = this.#next()
        if (next !== undefined) {
          yield next
          continue
        }
        await this.#woken()
        if (!this.#isEnded) await gather()
      }
    } finally {
      this.end()
    }
  }

  #next(): string | undefined {
    const { nowMs, onSent, textOf } = this.#options
    const now = nowMs()
    const items = this.#open.reader.take(eventsAtOnce, now)
    const isBeatDue = now - this.#sentAtMs >= beatMs
    if (items.length === 0 && !isBeatDue) return undefined
    this.#sentAtMs = now
    if (items.length === 0) return beatText(this.#open.reader.positionText)
    onSent(items)
    return items.map(textOf).join("")
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined
        resolve()
      }
    })
  }
}
