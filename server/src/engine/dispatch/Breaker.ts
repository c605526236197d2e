// One host, as one namespace sees it: after a run of failures nothing is sent there for a while; then one
// attempt goes as a probe, and its result decides. Timers that wait for it cost no attempt.
export interface BreakerPolicy {
  /** Failures in a row that open it. */
  readonly failures: number
  readonly firstPauseMs: number
  readonly longestPauseMs: number
}

export class Breaker {
  readonly #policy: BreakerPolicy
  #failuresInARow = 0
  #pauseMs = 0
  #openedAtMs: number | undefined
  #openUntilMs: number | undefined
  #isProbing = false

  constructor(policy: BreakerPolicy) {
    this.#policy = policy
  }

  /** `nowMs` is monotonic. */
  allows(nowMs: number): boolean {
    return this.#openUntilMs === undefined || (!this.#isProbing && nowMs >= this.#openUntilMs)
  }

  /** In a row, up to now. */
  get failures(): number {
    return this.#failuresInARow
  }

  get isOpen(): boolean {
    return this.#openUntilMs !== undefined
  }

  /** When it opened, in monotonic milliseconds; probes that failed since do not count. */
  get openedAtMs(): number | undefined {
    return this.#openedAtMs
  }

  /** When the next probe may go, in monotonic milliseconds; nothing while closed or while one is under way. */
  get probeAtMs(): number | undefined {
    return this.#isProbing ? undefined : this.#openUntilMs
  }

  /** Nothing to remember. */
  get isAtRest(): boolean {
    return this.#failuresInARow === 0
  }

  started(): void {
    if (this.isOpen) this.#isProbing = true
  }

  succeeded(): void {
    this.#failuresInARow = 0
    this.#pauseMs = 0
    this.#openedAtMs = undefined
    this.#openUntilMs = undefined
    this.#isProbing = false
  }

  failed(nowMs: number): void {
    this.#failuresInARow++
    // Attempts that began before it opened end one by one: they say nothing new.
    if (this.isOpen && !this.#isProbing) return
    if (!this.#isProbing && this.#failuresInARow < this.#policy.failures) return
    this.#isProbing = false
    this.#pauseMs = Math.min(
      this.#policy.longestPauseMs,
      Math.max(this.#policy.firstPauseMs, this.#pauseMs * 2),
    )
    this.#openedAtMs ??= nowMs
    this.#openUntilMs = nowMs + this.#pauseMs
  }
}
