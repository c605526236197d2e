// How much the dispatcher does before the thread does other work. Without a limit, one call of the dispatcher could hold the
// thread for a tenth of a second: a commit may store the outcomes of a thousand attempts, and each of them makes room for
// another; and if the slots are full, one call could park the timers of tens of thousands of namespaces.

/** One start takes up to 0.1 ms. */
const startsAtOnce = 100
/**
 * New namespaces may start fewer, because nobody knows how many of them there are. Their attempts also end at about this
 * pace, so that known namespaces find the thread free every few milliseconds.
 */
const newStartsAtOnce = 25
/** A timer that is looked at starts, is parked or goes back. One look takes up to 0.01 ms. */
const looksAtOnce = 400

export class StartPace {
  readonly #soon: (task: () => void) => void
  readonly #goOn: () => void
  #starts = startsAtOnce
  #newStarts = newStartsAtOnce
  #looks = looksAtOnce
  #isWaiting = false

  /** `goOn` is called in another turn of the thread, if this one was not enough. */
  constructor(soon: (task: () => void) => void, goOn: () => void) {
    this.#soon = soon
    this.#goOn = goOn
  }

  /** Whether any timer may start in this turn. */
  get isOpen(): boolean {
    return this.#starts > 0 && this.#looks > 0
  }

  get isOpenForNew(): boolean {
    return this.#newStarts > 0
  }

  looked(): void {
    if (--this.#looks === 0) this.#wait()
  }

  started(isNew: boolean): void {
    this.#starts--
    if (isNew) this.#newStarts--
    if (this.#starts === 0 || this.#newStarts === 0) this.#wait()
  }

  #wait(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#soon(() => {
      this.#isWaiting = false
      this.#starts = startsAtOnce
      this.#newStarts = newStartsAtOnce
      this.#looks = looksAtOnce
      this.#goOn()
    })
  }
}
