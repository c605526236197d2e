// The first and the last failure of each message. Brokers count deliveries but do not remember why they failed. The
// memory is bounded and belongs to this process. A failure that was dropped, or that happened in another process, is
// missing from the record of the undeliverable message. Nothing else depends on this memory.
import type { Failure } from "./Undeliverable.ts"

export interface Failures {
  readonly first: Failure
  readonly last: Failure
}

export class FailureMemory {
  /** Oldest first. */
  readonly #byMessage = new Map<string, Failures>()
  readonly #atMost: number

  constructor(atMost: number) {
    this.#atMost = atMost
  }

  note(messageKey: string, { at, error }: Failure): Failures {
    const last = { at, error: error.slice(0, errorChars) }
    const failures = { first: this.#byMessage.get(messageKey)?.first ?? last, last }
    this.#byMessage.set(messageKey, failures)
    if (this.#byMessage.size > this.#atMost) {
      const [oldest] = this.#byMessage.keys()
      if (oldest !== undefined) this.#byMessage.delete(oldest)
    }
    return failures
  }

  of(messageKey: string): Failures | undefined {
    return this.#byMessage.get(messageKey)
  }

  forget(messageKey: string): void {
    this.#byMessage.delete(messageKey)
  }
}

/** A handler can return an error of any length, so the memory keeps only this many characters. */
const errorChars = 1_000
