// The calls of a thread that run in slices. The thread runs one slice, then reads its messages, then runs a slice of the
// next call. So a short call waits for one slice at most, even if many long calls are under way.

interface Running {
  readonly slices: Iterator<void, unknown>
  readonly finish: (value: unknown) => void
  readonly fail: (error: unknown) => void
}

export class SlicedCalls {
  /** The next slice belongs to the first call. */
  readonly #running = new Map<number, Running>()
  #isScheduled = false

  add(call: number, running: Running): void {
    this.#running.set(call, running)
    this.#schedule()
  }

  /** Nobody waits for the call any more. */
  drop(call: number): void {
    this.#running.delete(call)
  }

  /** Runs all calls to their end. */
  finishAll(): void {
    while (this.#running.size > 0) this.#runSlice()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#running.size === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#runSlice()
      this.#schedule()
    })
  }

  #runSlice(): void {
    for (const [call, running] of this.#running) {
      this.#running.delete(call)
      try {
        const slice = running.slices.next()
        if (slice.done) running.finish(slice.value)
        else this.#running.set(call, running)
      } catch (error) {
        running.fail(error)
      }
      return
    }
  }
}
