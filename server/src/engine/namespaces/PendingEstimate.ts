// How many pending timers a namespace has at most, as far as one node can tell: what was last counted, and every
// create since that the count may not have seen.
import { Deferred, Effect } from "effect"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"

const shortestIntervalMs = 1_000
/** Of the time, a count and the rest after it: one part in this many is spent counting. */
const restFactor = 20
/** After a count that failed, however long it took. */
const restAfterFailureMs = 5_000

interface Counted {
  readonly count: number
  /** Where counting stopped, if there were more. */
  readonly capped: boolean
}

export class PendingEstimate {
  readonly #namespace: string
  #counted: Counted | undefined
  /** Creates that `counted` may not have seen. */
  #unseen = 0
  /** Of those, the ones that are not answered yet. */
  #unanswered = 0
  /** While a count is under way: what it may not see. */
  #underWay: { unseen: number; readonly done: Deferred.Deferred<void> } | undefined
  #nextMs = Number.NEGATIVE_INFINITY

  constructor(namespace: string) {
    this.#namespace = namespace
  }

  /** When it may be counted again, by the monotonic clock. */
  get nextCountMs(): number {
    return this.#nextMs
  }

  /** How many more there may be; less than 0 if there are too many. */
  room(limit: number): number {
    return limit - (this.#counted?.count ?? 0) - this.#unseen
  }

  noteAdmitted(): void {
    this.#unanswered++
    this.#unseen++
    if (this.#underWay !== undefined) this.#underWay.unseen++
  }

  /** One that was not answered yet may be pending now, or certainly is not one more. */
  noteAnswer(mayBePending: boolean): void {
    this.#unanswered--
    if (mayBePending) return
    this.#unseen--
    if (this.#underWay !== undefined) this.#underWay.unseen--
  }

  /** Whether to count before so many creates are judged. */
  isCountDue(limit: number, creates: number, nodes: number, nowMs: number): boolean {
    const counted = this.#counted
    const isResting = nowMs < this.#nextMs && this.#underWay === undefined
    // None has succeeded yet.
    if (counted === undefined) return !isResting
    // Counted under a lower limit, it says no more than that there are that many.
    if (counted.capped && counted.count < limit) return true
    if (isResting) return false
    if (this.room(limit) < creates) return true
    // What other nodes create shows in a count only: it is due before all of them together could fill what is left.
    return nodes > 1 && (this.#unseen + creates) * 2 * nodes >= limit - counted.count
  }

  /** Counts, once for all who ask meanwhile. */
  recount(limit: number, count: TimerStore["Service"]["count"], nowMs: () => number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#underWay !== undefined) return Deferred.await(this.#underWay.done)
      const done = Deferred.makeUnsafe<void>()
      const underWay = { unseen: this.#unanswered, done }
      this.#underWay = underWay
      const startedMs = nowMs()
      const counting = count({ namespace: this.#namespace, state: "pending", limit }).pipe(
        Effect.matchEffect({
          onSuccess: (counted) =>
            Effect.sync(() => {
              this.#counted = counted
              this.#unseen = underWay.unseen
              const endedMs = nowMs()
              this.#nextMs = endedMs + Math.max(shortestIntervalMs, restFactor * (endedMs - startedMs))
            }),
          onFailure: (error) => this.#failed(error, nowMs()),
        }),
        Effect.ensuring(
          Effect.suspend(() => {
            this.#underWay = undefined
            return Deferred.succeed(done, undefined)
          }),
        ),
      )
      // Others wait for it: it does not end with the call that began it.
      return Effect.andThen(Effect.forkDetach(counting), Deferred.await(done))
    })
  }

  /**
   * Whoever has never counted knows no reason to refuse: the write that follows will fail if the store is away. It is
   * tried again soon, for the namespace may be full.
   */
  #failed(error: StoreError, nowMs: number): Effect.Effect<void> {
    this.#nextMs = nowMs + restAfterFailureMs
    return Effect.logWarning(
      `the pending timers of ${this.#namespace} could not be counted: ${error.message}`,
    )
  }
}
