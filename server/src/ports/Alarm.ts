// Wakes a waiting fibre at an instant of the wall clock. The runtime's timers count whole milliseconds. So a timer for
// a whole millisecond of the day wakes half a millisecond late on average. The system alarm is more exact. It sleeps
// with such a timer until shortly before the instant. Then it waits on an address of shared memory that nobody ever
// changes, whose timeout is exact to some hundredths of a millisecond.
import { Context, Effect } from "effect"

export interface AlarmService {
  /** Sleeps until the instant or slightly longer. It may also return early. `nowMs` is the time by the wall clock. */
  sleepUntil(instantMs: number, nowMs: number): Effect.Effect<void>
}

/** Uses Effect's clock by default. */
export const Alarm = Context.Reference<AlarmService>("punctual/ports/Alarm", {
  defaultValue: () => ({ sleepUntil: (instantMs, nowMs) => Effect.sleep(Math.max(1, instantMs - nowMs)) }),
})

/** For the wall clock of the system. */
export const systemAlarm: AlarmService = {
  sleepUntil: (instantMs) =>
    Effect.callback((resume) => {
      const sleep = new Sleep(instantMs, () => resume(Effect.void))
      return Effect.sync(() => sleep.cancel())
    }),
}

/** By how much a timer of the runtime may be late without harm. */
const coarseMarginMs = 2
/** A wake-up earlier than this means that the sleep was too short. */
const earlyMs = 0.05

const nothing = new Int32Array(new SharedArrayBuffer(4))

class Sleep {
  readonly #instantMs: number
  readonly #onEnd: () => void
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false

  constructor(instantMs: number, onEnd: () => void) {
    this.#instantMs = instantMs
    this.#onEnd = onEnd
    this.#goOn()
  }

  cancel(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #goOn(): void {
    const leftMs = this.#instantMs - preciseNow()
    if (leftMs <= 0) this.#end()
    else if (leftMs > 2 * coarseMarginMs) this.#sleepCoarsely(leftMs - coarseMarginMs)
    else this.#sleepFinely(leftMs)
  }

  #sleepCoarsely(ms: number): void {
    this.#timer = setTimeout(() => this.#goOn(), Math.floor(ms))
  }

  #sleepFinely(ms: number): void {
    const wait = Atomics.waitAsync(nothing, 0, 0, ms)
    if (!wait.async) {
      this.#sleepCoarsely(1)
      return
    }
    wait.value.then(() => {
      if (this.#isOver) return
      // A runtime that cannot wait for fractions of a millisecond returns early. Then one more timer covers the rest.
      if (this.#instantMs - preciseNow() > earlyMs) this.#sleepCoarsely(1)
      else this.#end()
    })
  }

  #end(): void {
    this.#isOver = true
    this.#onEnd()
  }
}

let offsetMs = performance.timeOrigin

/** The time of day with fractions of milliseconds. It never leaves the millisecond that Date reports. */
export const preciseNow = (): number => {
  const elapsedMs = performance.now()
  const wholeMs = Date.now()
  const now = elapsedMs + offsetMs
  if (now >= wholeMs && now < wholeMs + 1) return now
  // The system clock was set, or has drifted from the monotonic one.
  offsetMs = (now < wholeMs ? wholeMs : wholeMs + 0.999) - elapsedMs
  return elapsedMs + offsetMs
}
