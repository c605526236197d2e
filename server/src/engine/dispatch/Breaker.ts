// The breaker of one host in one namespace. After several failures in a row nothing is sent to the host for a while.
// Then one attempt goes as a probe, and its result decides. Timers that wait use up no attempts.
import type { HostEvidence } from "../../domain/Delivery.ts"

export interface BreakerPolicy {
  /** This many failures in a row open the breaker. */
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

  /** The number of failures in a row. */
  get failures(): number {
    return this.#failuresInARow
  }

  get isOpen(): boolean {
    return this.#openUntilMs !== undefined
  }

  /** When the breaker opened, in monotonic milliseconds. Failed probes do not change it. */
  get openedAtMs(): number | undefined {
    return this.#openedAtMs
  }

  /** When the next probe may start, in monotonic milliseconds; `undefined` while closed or while a probe runs. */
  get probeAtMs(): number | undefined {
    return this.#isProbing ? undefined : this.#openUntilMs
  }

  /** The breaker has no failures to remember. */
  get isAtRest(): boolean {
    return this.#failuresInARow === 0
  }

  /** Returns whether the attempt is the probe. */
  started(): boolean {
    if (this.isOpen) this.#isProbing = true
    return this.#isProbing
  }

  /** An attempt ended. If the probe ended without a call to the host, the next attempt is the probe. */
  ended(evidence: HostEvidence, isProbe: boolean, monotonicMs: () => number): void {
    if (evidence === "failed" || evidence === "timedOut") this.#failed(monotonicMs())
    else if (evidence === "answered") this.succeeded()
    else if (isProbe) this.#isProbing = false
  }

  succeeded(): void {
    this.#failuresInARow = 0
    this.#pauseMs = 0
    this.#openedAtMs = undefined
    this.#openUntilMs = undefined
    this.#isProbing = false
  }

  #failed(nowMs: number): void {
    this.#failuresInARow++
    // Attempts that started before the breaker opened still end. They add no new information.
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
