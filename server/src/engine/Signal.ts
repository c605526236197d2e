// A wake-up for a loop that sleeps: raised any number of times, it ends one wait. A raise while nobody
// waits is not lost. The loop goes on in a turn of its own, never inside whoever raises it: a window that
// wakes the firing loop is in the middle of a change.
import { Effect } from "effect"

export class Signal {
  #isRaised = false
  #wake: (() => void) | undefined

  raise(): void {
    if (this.#isRaised) return
    this.#isRaised = true
    this.#wake?.()
  }

  /** Until raised, or until the time is over. */
  waitAtMost(ms: number): Effect.Effect<void> {
    return this.waitDuring(Effect.sleep(Math.max(1, ms)))
  }

  /** Until raised, or until the sleep is over. */
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
