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
  /** How many deliveries of it have begun. */
  readonly deliveries: number
  readonly dueAtMs: number
  /** The last of these deliveries has no answer. If the process has ended since, the handler may be the reason. */
  readonly isBegun: boolean
}

interface Line {
  /** In the order of `originOffset`. */
  readonly entries: Array<RetryEntry>
  /** How many messages of the key are on their way here. */
  arriving: number
}

export class RetryQueue {
  readonly #lines = new Map<string, Line>()
  readonly #origins = new Map<string, RetryEntry>()
  /** Messages that are being handled or written again, and whether they were suspects when they were taken out. */
  readonly #out = new Map<RetryEntry, boolean>()

  /** Whether a suspect is being handled. */
  get hasSuspectOut(): boolean {
    return [...this.#out.values()].includes(true)
  }

  isSuspectOut(entry: RetryEntry): boolean {
    return this.#out.get(entry) === true
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
   * The message waits from now on, or it is still out if it `staysOut`. If an older copy of it waits, the new copy takes
   * its place. Returns the older copy, which is done.
   */
  add(entry: RetryEntry, staysOut = false): RetryEntry | undefined {
    const older = this.#origins.get(entry.origin)
    const wasSuspect = older !== undefined && this.isSuspectOut(older)
    if (older !== undefined) this.remove(older)
    const { entries } = this.#line(entry.key)
    const at = entries.findLastIndex(({ originOffset }) => originOffset < entry.originOffset) + 1
    entries.splice(at, 0, entry)
    this.#origins.set(entry.origin, entry)
    if (staysOut) this.#out.set(entry, wasSuspect)
    return older
  }

  /** The message waits no more. */
  remove(entry: RetryEntry): void {
    const line = this.#line(entry.key)
    const at = line.entries.indexOf(entry)
    if (at >= 0) line.entries.splice(at, 1)
    this.#out.delete(entry)
    if (this.#origins.get(entry.origin) === entry) this.#origins.delete(entry.origin)
    this.#endIfEmpty(entry.key, line)
  }

  /**
   * Takes out a message that is due and first in its key, for handling. Until it is removed or put back, no other
   * message of its key is taken out. A suspect is left out unless it may be taken.
   */
  takeDue(nowMs: number, mayBeSuspect: boolean): RetryEntry | undefined {
    for (const { entries } of this.#lines.values()) {
      const [first] = entries
      if (first === undefined || first.dueAtMs > nowMs || !this.#mayTake(first, mayBeSuspect)) continue
      this.#out.set(first, isSuspect(first))
      return first
    }
    return undefined
  }

  /** Takes out the message with this offset, if it waits. */
  takeAt(offset: number): RetryEntry | undefined {
    for (const entry of this.#origins.values()) {
      if (entry.offset !== offset) continue
      if (this.#out.has(entry)) return undefined
      this.#out.set(entry, false)
      return entry
    }
    return undefined
  }

  /** The message was not handled, and waits again. */
  putBack(entry: RetryEntry): void {
    this.#out.delete(entry)
  }

  /** When the next message is due that `takeDue` would take. `undefined` if none waits. */
  nextDueAtMs(mayBeSuspect: boolean): number | undefined {
    let next: number | undefined
    for (const { entries } of this.#lines.values()) {
      const [first] = entries
      if (first === undefined || !this.#mayTake(first, mayBeSuspect)) continue
      next = Math.min(next ?? first.dueAtMs, first.dueAtMs)
    }
    return next
  }

  #mayTake(entry: RetryEntry, mayBeSuspect: boolean): boolean {
    return !this.#out.has(entry) && (mayBeSuspect || !isSuspect(entry))
  }

  #line(key: string): Line {
    let line = this.#lines.get(key)
    if (line === undefined) {
      line = { entries: [], arriving: 0 }
      this.#lines.set(key, line)
    }
    return line
  }

  #endIfEmpty(key: string, { entries, arriving }: Line): void {
    if (entries.length === 0 && arriving === 0) this.#lines.delete(key)
  }
}

/**
 * A message that was delivered more than once without an answer may be what ends the process. It is handled while no
 * other suspect is, so that the next end of the process counts for it alone.
 */
export const isSuspect = ({ deliveries, isBegun }: RetryEntry): boolean => isBegun && deliveries > 1
