// The messages of one partition that wait in the topic of retries, by key. Only the first message of a key may be due.
// The others follow it, in the order in which they were published. A key is parked as long as one of its messages waits
// here or is on its way here. Later messages of a parked key must follow it.
//
// The queue has no contents, only places in the topic. A message is read again when it is due. So the memory for a
// waiting message is small, however large the message is.

export interface RetryEntry {
  readonly key: string
  /** Identifies the message in the topic where it was published. */
  readonly origin: string
  /** Its place among the messages of its key. */
  readonly originOffset: number
  /** Its offset in the topic of retries. */
  readonly offset: number
  /** How often it was delivered so far. */
  readonly deliveries: number
  readonly dueAtMs: number
}

interface Line {
  /** In the order of `originOffset`. */
  readonly entries: Array<RetryEntry>
  /** How many messages of the key are on their way here. */
  arriving: number
  /** The first message is being handled. */
  isOut: boolean
}

export class RetryQueue {
  readonly #lines = new Map<string, Line>()
  readonly #origins = new Map<string, RetryEntry>()

  get size(): number {
    return this.#origins.size
  }

  isParked(key: string): boolean {
    return this.#lines.has(key)
  }

  /** Whether the message waits here. */
  has(origin: string): boolean {
    return this.#origins.has(origin)
  }

  /** A message of the key is on its way here. */
  expect(key: string): void {
    this.#line(key).arriving++
  }

  /** A message that was on its way does not come. */
  expectNoMore(key: string): void {
    const line = this.#line(key)
    line.arriving--
    this.#endIfEmpty(key, line)
  }

  /**
   * The message waits from now on. If an older copy of it waits, the new copy takes its place. Returns the older copy,
   * which is done.
   */
  add(entry: RetryEntry): RetryEntry | undefined {
    const older = this.#origins.get(entry.origin)
    if (older !== undefined) this.remove(older)
    const { entries } = this.#line(entry.key)
    const at = entries.findLastIndex(({ originOffset }) => originOffset < entry.originOffset) + 1
    entries.splice(at, 0, entry)
    this.#origins.set(entry.origin, entry)
    return older
  }

  /** The message waits no more. */
  remove(entry: RetryEntry): void {
    const line = this.#line(entry.key)
    const at = line.entries.indexOf(entry)
    if (at >= 0) line.entries.splice(at, 1)
    if (at === 0) line.isOut = false
    if (this.#origins.get(entry.origin) === entry) this.#origins.delete(entry.origin)
    this.#endIfEmpty(entry.key, line)
  }

  /** Takes out a message that is due and first in its key, for handling. Until it is removed, its key rests. */
  takeDue(nowMs: number): RetryEntry | undefined {
    for (const line of this.#lines.values()) {
      const [first] = line.entries
      if (first === undefined || line.isOut || first.dueAtMs > nowMs) continue
      line.isOut = true
      return first
    }
    return undefined
  }

  /** The message was not handled, and waits again. */
  putBack({ key, origin }: RetryEntry): void {
    const line = this.#lines.get(key)
    if (line?.entries[0]?.origin === origin) line.isOut = false
  }

  /** When the next message is due. `undefined` if none waits. */
  get nextDueAtMs(): number | undefined {
    let next: number | undefined
    for (const { entries, isOut } of this.#lines.values()) {
      const [first] = entries
      if (first !== undefined && !isOut) next = Math.min(next ?? first.dueAtMs, first.dueAtMs)
    }
    return next
  }

  /** The message with this offset, if it waits and is not being handled. */
  resting(offset: number): RetryEntry | undefined {
    for (const { entries, isOut } of this.#lines.values()) {
      const at = entries.findIndex((entry) => entry.offset === offset)
      if (at >= 0) return at === 0 && isOut ? undefined : entries[at]
    }
    return undefined
  }

  #line(key: string): Line {
    let line = this.#lines.get(key)
    if (line === undefined) {
      line = { entries: [], arriving: 0, isOut: false }
      this.#lines.set(key, line)
    }
    return line
  }

  #endIfEmpty(key: string, { entries, arriving }: Line): void {
    if (entries.length === 0 && arriving === 0) this.#lines.delete(key)
  }
}
