// Why a message failed, from its first failure to its last: brokers count deliveries and remember no reasons.
// It is kept in memory and bounded: what is forgotten, or failed in another process, is missing from
// the record of an undeliverable message, and nothing else depends on it.
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

/** A handler may say anything; what is remembered of it is bounded. */
const errorChars = 1_000
