// How many due timers all shards together take from their windows before the thread does other work. If tens of thousands
// of timers are due at the same instant, the loops of all shards wake in the same turn. Timers of new namespaces have a
// smaller limit of their own: nobody knows how many such namespaces there are, and each of them makes a queue in the
// dispatcher. So they neither delay the timers of known namespaces nor starve.
import type { Entry } from "./Entry.ts"

/** One takes a few microseconds, with its way to the dispatcher. */
const dueAtOnce = 1_000
const newAtOnce = 250

export class DuePace {
  readonly #soon: (task: () => void) => void
  #left = dueAtOnce
  #newLeft = newAtOnce
  #isWaiting = false

  /** `soon` calls a task when the thread has done other work that waits. */
  constructor(soon: (task: () => void) => void) {
    this.#soon = soon
  }

  /** How many timers of known namespaces may be taken before the thread does other work. */
  get left(): number {
    return this.#left
  }

  /** How many timers of new namespaces may be taken in addition. */
  get newLeft(): number {
    return this.#newLeft
  }

  /** Whether due timers may wait for the next turn. */
  get isSpent(): boolean {
    return this.#left === 0 || this.#newLeft === 0
  }

  took(due: ReadonlyArray<Pick<Entry, "isOfNew">>): void {
    for (const { isOfNew } of due) {
      if (isOfNew) this.#newLeft--
      else this.#left--
    }
    if (!this.isSpent || this.#isWaiting) return
    this.#isWaiting = true
    this.#soon(() => {
      this.#isWaiting = false
      this.#left = dueAtOnce
      this.#newLeft = newAtOnce
    })
  }
}
