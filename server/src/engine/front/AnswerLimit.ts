// Limits how long callers wait for the answers to their writes. All waits have the same length, so they end in the order
// in which they began, and one sleep for the oldest wait is enough. A sleep for each write would cost more than the write.
import { type Clock, Effect } from "effect"

export interface AnswerLimitParts {
  readonly clock: Clock.Clock
  readonly runFork: (effect: Effect.Effect<void>) => unknown
}

interface AnswerWait {
  readonly endsAtMs: number
  readonly onLate: () => void
}

/** Every end leads to an answer. Many of them at once would hold the thread. */
const endsAtOnce = 100

export class AnswerLimit {
  readonly #parts: AnswerLimitParts
  readonly #withinMs: number
  readonly #waits = new Set<AnswerWait>()
  #isSleeping = false

  constructor(parts: AnswerLimitParts, withinMs: number) {
    this.#parts = parts
    this.#withinMs = withinMs
  }

  /** Calls `onLate` after the time limit, unless the wait ends before. */
  begin(onLate: () => void): AnswerWait {
    const wait = { endsAtMs: this.#nowMs() + this.#withinMs, onLate }
    this.#waits.add(wait)
    if (!this.#isSleeping) this.#sleep(this.#withinMs)
    return wait
  }

  /** The answer is there. False if it is too late. */
  end(wait: AnswerWait): boolean {
    return this.#waits.delete(wait)
  }

  #sleep(ms: number): void {
    this.#isSleeping = true
    this.#parts.runFork(
      Effect.andThen(
        Effect.sleep(ms),
        Effect.sync(() => this.#endOverdue()),
      ),
    )
  }

  #endOverdue(): void {
    const nowMs = this.#nowMs()
    this.#isSleeping = false
    let ended = 0
    for (const wait of this.#waits) {
      if (wait.endsAtMs > nowMs || ended++ === endsAtOnce) {
        this.#sleep(Math.max(1, Math.ceil(wait.endsAtMs - nowMs)))
        return
      }
      this.#waits.delete(wait)
      wait.onLate()
    }
  }

  #nowMs(): number {
    return Number(this.#parts.clock.monotonicTimeNanosUnsafe()) / 1_000_000
  }
}
