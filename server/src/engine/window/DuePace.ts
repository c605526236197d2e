// How many due timers all shards together take from their windows before the thread does other work. If tens of thousands
// of timers are due at the same instant, the loops of all shards wake in the same turn.

/** One takes a few microseconds, with its way to the dispatcher. */
const dueAtOnce = 1_000

export class DuePace {
  readonly #soon: (task: () => void) => void
  #left = dueAtOnce

  /** `soon` calls a task when the thread has done other work that waits. */
  constructor(soon: (task: () => void) => void) {
    this.#soon = soon
  }

  /** How many timers may be taken before the thread does other work. */
  get left(): number {
    return this.#left
  }

  took(timers: number): void {
    if (timers === 0) return
    this.#left -= timers
    if (this.#left > 0) return
    this.#soon(() => {
      this.#left = dueAtOnce
    })
  }
}
