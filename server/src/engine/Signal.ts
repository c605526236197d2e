// Wakes a sleeping loop. Any number of raises ends one wait, and a raise while nobody waits is not lost. The loop
// continues in a turn of its own, never inside the call that raises the signal, because that caller may be in the
// middle of a change, such as a window that wakes the firing loop.
import { Effect } from "effect"

export class Signal {
  #isRaised = false
  #wake: (() => void) | undefined

  raise(): void {
    if (this.#isRaised) return
    this.#isRaised = true
    this.#wake?.()
  }

  /** Waits until the signal is raised, or until the time is over. */
  waitAtMost(ms: number): Effect.Effect<void> {
    return this.waitDuring(Effect.sleep(Math.max(1, ms)))
  }

  /** Waits until the signal is raised, or until the sleep is over. */
  waitDuring(sleep: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.raceFirst(this.#raised, sleep).pipe(
      Effect.andThen(
        Effect.sync(() => {
          this.#isRaised = false
        }),
      ),
    )
  }

  readonly #raised: Effect.Effect<void> = Effect.withFiber((fiber) =>
    Effect.callback((resume) => {
      if (this.#isRaised) {
        resume(Effect.void)
        return
      }
      this.#wake = () => {
        this.#wake = undefined
        fiber.currentDispatcher.scheduleTask(() => resume(Effect.void), 0)
      }
      return Effect.sync(() => {
        this.#wake = undefined
      })
    }),
  )
}
