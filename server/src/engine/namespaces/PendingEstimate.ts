// An upper estimate of the pending timers of a namespace, as far as one node can tell: the last count, plus every later
// create that the count may have missed.
import { Deferred, Effect } from "effect"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"

const shortestIntervalMs = 1_000
/**
 * The rest after a count is this many times as long as the count. So counting takes one part in this many of the time.
 */
const restFactor = 20
/** The rest after a failed count, no matter how long the count took. */
const restAfterFailureMs = 5_000

interface Counted {
  readonly count: number
  /** Counting stopped at the limit, and there may be more. */
  readonly capped: boolean
}

export class PendingEstimate {
  readonly #namespace: string
  #counted: Counted | undefined
  /** Creates that `counted` may have missed. */
  #unseen = 0
  /** Those of them that are not answered yet. */
  #unanswered = 0
  /** The running count, and the creates that it may miss. */
  #underWay: { unseen: number; readonly done: Deferred.Deferred<void> } | undefined
  #nextMs = Number.NEGATIVE_INFINITY

  constructor(namespace: string) {
    this.#namespace = namespace
  }

  /** When the next count may start, by the monotonic clock. */
  get nextCountMs(): number {
    return this.#nextMs
  }

  /** How many more timers there may be. Below 0 if there are too many. */
  room(limit: number): number {
    return limit - (this.#counted?.count ?? 0) - this.#unseen
  }

  noteAdmitted(): void {
    this.#unanswered++
    this.#unseen++
    if (this.#underWay !== undefined) this.#underWay.unseen++
  }

  /** A create was answered. Either its timer may be pending now, or it certainly added none. */
  noteAnswer(mayBePending: boolean): void {
    this.#unanswered--
    if (mayBePending) return
    this.#unseen--
    if (this.#underWay !== undefined) this.#underWay.unseen--
  }

  /** Whether to count before this many creates are admitted. */
  isCountDue(limit: number, creates: number, nodes: number, nowMs: number): boolean {
    const counted = this.#counted
    const isResting = nowMs < this.#nextMs && this.#underWay === undefined
    // No count has succeeded yet.
    if (counted === undefined) return !isResting
    // It was counted under a lower limit, so it only says that there are at least that many.
    if (counted.capped && counted.count < limit) return true
    if (isResting) return false
    if (this.room(limit) < creates) return true
    // Only a count shows what other nodes create. It is due before all nodes together could fill the remaining room.
    return nodes > 1 && (this.#unseen + creates) * 2 * nodes >= limit - counted.count
  }

  /** Counts once for all callers that ask meanwhile. */
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
      // Other callers wait for the count, so it does not end with the call that started it.
      return Effect.andThen(Effect.forkDetach(counting), Deferred.await(done))
    })
  }

  /**
   * Without any count there is no reason to refuse a create: if the store is unreachable, the write will fail anyway.
   * The count is repeated soon, because the namespace may be full.
   */
  #failed(error: StoreError, nowMs: number): Effect.Effect<void> {
    this.#nextMs = nowMs + restAfterFailureMs
    return Effect.logWarning(
      `the pending timers of ${this.#namespace} could not be counted: ${error.message}`,
    )
  }
}
