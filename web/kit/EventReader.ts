/**
 * Reads a stream of events of the service and hands the events on in batches. The worker uses it for all tabs; a browser
 * without shared workers uses it in the tab.
 */

/** A stream, and the names of its events. */
export interface EventSourceTerms {
  /** Relative to the pages. */
  readonly address: string
  readonly types: ReadonlyArray<string>
  /** Events that only say that more has happened than the stream tells. */
  readonly untold: ReadonlyArray<string>
}

/** The data of an event, with the name of the event. */
export type StreamEvent = Readonly<Record<string, unknown>> & { readonly type: string }

export interface EventBatch<Event = StreamEvent> {
  /** Whether the stream is open. While it is not, pages must ask. */
  readonly isOpen: boolean
  readonly events: ReadonlyArray<Event>
  /** Something else happened, too: more than the service tells, or while the stream was interrupted. */
  readonly hasMore: boolean
}

const batchMs = 100
/** A stream that the service refused is tried again after this. Interruptions are tried again by the browser itself. */
const againMs = 30_000

export class EventReader {
  readonly #terms: EventSourceTerms
  readonly #onBatch: (batch: EventBatch) => void
  #source: EventSource | undefined
  #events: Array<StreamEvent> = []
  #hasMore = false
  #batchTimer: ReturnType<typeof setTimeout> | undefined
  #againTimer: ReturnType<typeof setTimeout> | undefined

  constructor(terms: EventSourceTerms, onBatch: (batch: EventBatch) => void) {
    this.#terms = terms
    this.#onBatch = onBatch
  }

  get isOpen(): boolean {
    return this.#source?.readyState === EventSource.OPEN
  }

  start(): void {
    if (this.#source !== undefined) return
    const source = new EventSource(this.#terms.address)
    this.#source = source
    // Nobody knows what happened before the stream opened.
    source.addEventListener("open", () => this.#note(undefined, true))
    source.addEventListener("error", () => {
      this.#note(undefined, false)
      if (source.readyState !== EventSource.CLOSED) return
      this.stop()
      this.#againTimer = setTimeout(() => this.start(), againMs)
    })
    for (const type of this.#terms.types) {
      source.addEventListener(type, ({ data }) => this.#note({ type, ...JSON.parse(data) }, false))
    }
    for (const type of this.#terms.untold) source.addEventListener(type, () => this.#note(undefined, true))
  }

  stop(): void {
    this.#source?.close()
    this.#source = undefined
    clearTimeout(this.#againTimer)
  }

  #note(event: StreamEvent | undefined, hasMore: boolean): void {
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
