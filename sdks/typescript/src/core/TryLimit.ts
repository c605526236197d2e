/** What ends one try: the caller's signal, or its time limit. `AbortSignal.any` would do, but Node 18 does not have it. */
import { PunctualError } from "../errors.ts"
import { noAnswer, tookTooLong, wasAborted, withWritten } from "./failures.ts"

/** The limit of one try. */
export class TryLimit {
  readonly #ending = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #timeoutMs: number
  readonly #place: string
  readonly #timer: ReturnType<typeof setTimeout>

  /** Throws if the try cannot even begin. Then nothing was sent. */
  constructor(caller: AbortSignal | undefined, timeoutMs: number, place: string) {
    if (caller?.aborted === true) throw withWritten(wasAborted(caller.reason), "no")
    if (timeoutMs <= 0) throw withWritten(tookTooLong(0, place), "no")
    this.#caller = caller
    this.#timeoutMs = timeoutMs
    this.#place = place
    this.#timer = setTimeout(this.#abort, Math.min(timeoutMs, longestTimerMs))
    caller?.addEventListener("abort", this.#abort)
  }

  /** Aborted when the try must end. */
  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** The time limit ends. The caller's signal still counts. */
  stopClock(): void {
    clearTimeout(this.#timer)
  }

  /** The try is over: nothing can end it any more. */
  end(): void {
    this.stopClock()
    this.#caller?.removeEventListener("abort", this.#abort)
  }

  /** Why the try failed: the limit explains a broken request better than the transport does. */
  failureOf(error: unknown): PunctualError {
    this.end()
    if (error instanceof PunctualError) return error
    if (this.#caller?.aborted === true) return wasAborted(this.#caller.reason)
    return this.#ending.signal.aborted
      ? tookTooLong(this.#timeoutMs, this.#place)
      : noAnswer(error, this.#place)
  }

  readonly #abort = (): void => this.#ending.abort()
}

/** Longer timers of JavaScript would end at once. */
const longestTimerMs = 2 ** 31 - 1
