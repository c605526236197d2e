// A queue of work in slices. Only one slice runs in each turn of the event loop, however many requests are worked on:
// otherwise forty requests, each with a short slice, would hold the engine's thread for forty slices.
//
// Many short slices can make others late, too: the system prefers threads that used less processor time, and all that the
// slices cause, in a database for example, competes for the same cores. So a queue can rest for a while: then it waits after
// its slices for as long as they took.

/** After a delay, the queue rests between slices for this long. */
const restingMs = 100
/** A shorter rest is added to the next one: the timers of the runtime are not exact, and each costs some time. */
const shortestRestMs = 1
const longestRestMs = 20
/** Counts for a slice whose work did not come back to the queue, for example because it was the last one. */
const usualSliceMs = 2
/** The list is cleaned after so many turns, so that it does not grow if the queue is never empty. */
const turnsPerCleaning = 1_000

export interface SliceQueueParts {
  readonly nowMs: () => number
  /** Calls a task in the next turn of the event loop. */
  readonly soon: (task: () => void) => void
  readonly after: (delayMs: number, task: () => void) => void
}

export class SliceQueue {
  readonly #parts: SliceQueueParts
  readonly #waiting: Array<() => void> = []
  #served = 0
  #isServing = false
  #restsUntilMs = 0
  #sliceBeganMs = 0
  /** When the work of the current slice came back to the queue. Absent if it has not. */
  #sliceEndedMs: number | undefined
  #owedRestMs = 0

  constructor(parts: SliceQueueParts) {
    this.#parts = parts
  }

  /** Resolves when the caller may run its next slice. */
  next(): Promise<void> {
    if (this.#isServing) this.#sliceEndedMs ??= this.#parts.nowMs()
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#isServing) return
      this.#isServing = true
      this.#parts.soon(this.#serve)
    })
  }

  restForAWhile(): void {
    this.#restsUntilMs = this.#parts.nowMs() + restingMs
  }

  readonly #serve = (): void => {
    this.#sliceBeganMs = this.#parts.nowMs()
    this.#sliceEndedMs = undefined
    this.#waiting[this.#served++]?.()
    // The slice runs before the next turn of the event loop.
    this.#parts.soon(this.#goOn)
  }

  readonly #goOn = (): void => {
    if (this.#served === this.#waiting.length || this.#served > turnsPerCleaning) {
      this.#waiting.splice(0, this.#served)
      this.#served = 0
    }
    this.#isServing = this.#waiting.length > 0
    const restMs = this.#restAfterSlice()
    if (!this.#isServing) return
    if (restMs < shortestRestMs) {
      this.#serve()
      return
    }
    this.#owedRestMs = 0
    this.#parts.after(Math.min(longestRestMs, Math.round(restMs)), this.#serve)
  }

  /** How long the queue should rest now: for as long as its last slices took, without other work of the same turns. */
  #restAfterSlice(): number {
    const nowMs = this.#parts.nowMs()
    const endedMs = this.#sliceEndedMs ?? Math.min(nowMs, this.#sliceBeganMs + usualSliceMs)
    if (nowMs >= this.#restsUntilMs) this.#owedRestMs = 0
    else this.#owedRestMs += endedMs - this.#sliceBeganMs
    return this.#owedRestMs
  }
}
