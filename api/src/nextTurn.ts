// Work in slices waits here between two slices. Only one slice of a queue runs in each turn of the event loop, however many
// requests are worked on: otherwise forty requests, each with a short slice, would hold the engine's thread for forty slices.
//
// Many short slices can make others late, too: the system prefers threads that used less processor time, and all that the
// slices cause, in a database for example, competes for the same cores. So the work of callers rests while due timers come
// late: after each slice for as long as the slice took. Deliveries and calls between nodes have time limits. They have a queue
// of their own, which never rests.

/** Resolves after the event loop has handled what else is ready: requests, answers, due timers. */
export const nextTurn = (): Promise<void> => callers.next()

/** The same for deliveries and for calls between nodes. It does not wait for the work of callers. */
export const nextUrgentTurn = (): Promise<void> => urgent.next()

/** Due timers came late. For a while, the work of callers leaves at least half of the thread to others. */
export const restBetweenSlices = (): void => callers.restForAWhile()

/** For so long after each delay. */
const restingMs = 100
const restMsMax = 4
/** Who had a turn is removed from the list when so many had one. */
const servedMax = 1_000

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

  constructor(parts: SliceQueueParts) {
    this.#parts = parts
  }

  next(): Promise<void> {
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
    this.#waiting[this.#served++]?.()
    // The slice runs before the next turn of the event loop.
    this.#parts.soon(this.#goOn)
  }

  readonly #goOn = (): void => {
    if (this.#served === this.#waiting.length || this.#served > servedMax) {
      this.#waiting.splice(0, this.#served)
      this.#served = 0
    }
    this.#isServing = this.#waiting.length > 0
    if (!this.#isServing) return
    const nowMs = this.#parts.nowMs()
    if (nowMs >= this.#restsUntilMs) this.#serve()
    else this.#parts.after(Math.min(restMsMax, Math.ceil(nowMs - this.#sliceBeganMs)), this.#serve)
  }
}

const ofTheRuntime: SliceQueueParts = {
  nowMs: () => performance.now(),
  soon: (task) => void setImmediate(task),
  after: (delayMs, task) => void setTimeout(task, delayMs),
}

const callers = new SliceQueue(ofTheRuntime)
const urgent = new SliceQueue(ofTheRuntime)
