// A wake-up for a loop that sleeps: raised any number of times, it ends one wait. A raise while nobody
// waits is not lost.
import { Effect, Latch } from "effect"

export class Signal {
  private readonly latch = Latch.makeUnsafe(false)

  raise(): void {
    this.latch.openUnsafe()
  }

  /** Until raised, or until the time is over. */
  waitAtMost(ms: number): Effect.Effect<void> {
    return Effect.raceFirst(this.latch.await, Effect.sleep(Math.max(1, ms))).pipe(
      Effect.andThen(Effect.sync(() => this.latch.closeUnsafe())),
    )
  }
}
