/**
 * Reads the stream of events of the service and hands the events on in batches. The worker uses it for all tabs; a browser
 * without shared workers uses it in the tab.
 */
export interface TimerEvent {
  readonly type: string
  readonly namespace: string
  readonly timerId: string
  readonly state: string
}

export interface EventBatch {
  /** Whether the stream is open. While it is not, pages must ask. */
  readonly isOpen: boolean
  readonly events: ReadonlyArray<TimerEvent>
  /** Something else happened, too: more than the service tells, or while the stream was interrupted. */
  readonly hasMore: boolean
}

/** The types of events about timers. A test compares them with the contract. */
export const timerEvents = [
  "created",
  "changed",
  "cancelled",
  "started",
  "delivered",
  "retried",
  "dead",
  "replayed",
]
const untold = ["skipped", "gap"]

const batchMs = 250
/** A stream that the service refused is tried again after this. Interruptions are tried again by the browser itself. */
const againMs = 30_000

export class EventReader {
  readonly #address: string
  readonly #onBatch: (batch: EventBatch) => void
  #source: EventSource | undefined
  #events: Array<TimerEvent> = []
  #hasMore = false
  #batchTimer: ReturnType<typeof setTimeout> | undefined
  #againTimer: ReturnType<typeof setTimeout> | undefined

  constructor(address: string, onBatch: (batch: EventBatch) => void) {
    this.#address = address
    this.#onBatch = onBatch
  }

  get isOpen(): boolean {
    return this.#source?.readyState === EventSource.OPEN
  }

  start(): void {
    if (this.#source !== undefined) return
    const source = new EventSource(this.#address)
    this.#source = source
    // Nobody knows what happened before the stream opened.
    source.addEventListener("open", () => this.#note(undefined, true))
    source.addEventListener("error", () => {
      this.#note(undefined, false)
      if (source.readyState !== EventSource.CLOSED) return
      this.stop()
      this.#againTimer = setTimeout(() => this.start(), againMs)
    })
    for (const type of timerEvents) {
      source.addEventListener(type, ({ data }) => this.#note({ type, ...JSON.parse(data) }, false))
    }
    for (const type of untold) source.addEventListener(type, () => this.#note(undefined, true))
  }

  stop(): void {
    this.#source?.close()
    this.#source = undefined
    clearTimeout(this.#againTimer)
  }

  #note(event: TimerEvent | undefined, hasMore: boolean): void {
    if (event !== undefined) this.#events.push(event)
    this.#hasMore ||= hasMore
    this.#batchTimer ??= setTimeout(() => this.#tell(), batchMs)
  }

  #tell(): void {
    const batch = { isOpen: this.isOpen, events: this.#events, hasMore: this.#hasMore }
    this.#events = []
    this.#hasMore = false
    this.#batchTimer = undefined
    this.#onBatch(batch)
  }
}
