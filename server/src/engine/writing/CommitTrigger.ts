// Decides when a commit may begin. A write that somebody waits for begins it at once. Writes that nobody waits for wait for
// each other: without that, a node that delivers a timer every millisecond would make a commit every millisecond.
import { Effect, Latch } from "effect"

/** This many waiting writes begin a commit without waiting longer. */
const enoughForCommit = 64

export class CommitTrigger {
  readonly #waitMs: number
  readonly #work = Latch.makeUnsafe(false)
  /** Open while writes wait for others, and nothing has made their commit due. */
  readonly #waiting = Latch.makeUnsafe(false)
  /** Writes that can wait, since the last commit was due. */
  #patient = 0
  #isDue = false

  /** `waitMs`: how long a write waits for others at most. 0: not at all. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs
  }

  /** False if nothing is queued, or if everything that is queued can wait. */
  get isDue(): boolean {
    return this.#isDue
  }

  queued(canWait: boolean): void {
    if (!canWait || this.#waitMs === 0 || ++this.#patient >= enoughForCommit) this.makeDue()
    else if (!this.#isDue) this.#waiting.openUnsafe()
  }

  makeDue(): void {
    this.#isDue = true
    this.#patient = 0
    this.#waiting.closeUnsafe()
    this.#work.openUnsafe()
  }

  /** A commit has taken what it may. If writes are left, the next commit is due too. */
  taken(isAnyLeft: boolean): void {
    this.#isDue = isAnyLeft
  }

  /** Resolves when a commit becomes due. */
  get awaitNextDue(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#work.closeUnsafe()
      return this.#work.await
    })
  }

  /** Ends the wait of writes. It must run beside the commits. */
  get endWaits(): Effect.Effect<never> {
    const wait = Effect.andThen(this.#waiting.await, Effect.sleep(this.#waitMs))
    return Effect.forever(
      Effect.andThen(
        wait,
        Effect.sync(() => this.makeDue()),
      ),
    )
  }
}
