// Limits how many timers a namespace may create, as its operators have set it: per second, and pending at once. The
// node that receives a create checks the quotas before it writes. Changes, replays and re-armings are not limited.
//
// The store counts pending timers. That is expensive, so a node counts at most once a second, and spends at most a
// twentieth of its time on it. Between counts, every admitted create counts as one more timer, even if other timers
// have ended. So one node never admits too many, but it may refuse a create until the next count although there is room
// again. Several nodes learn of each other's creates only when they count. Together they may exceed the limit, by at
// most the room that each of them still had.
//
// Namespaces without a limit of their own have the service's limit. It must cost nothing while the store is small. So
// this class does not look at single namespaces until the whole store holds half as many timers as the limit allows.
// Nobody can fill the other half between two reads of the tally.
import { type Clock, Effect, Schema } from "effect"
import { pendingOf } from "../../domain/Decision.ts"
import { keyOf } from "../../domain/TimerKey.ts"
import type { TimerStore } from "../../ports/TimerStore.ts"
import type { NamespaceDirectory } from "./NamespaceDirectory.ts"
import { PendingEstimate } from "./PendingEstimate.ts"
import { TokenBucket } from "./TokenBucket.ts"

/** The namespace has used up its quota. Nothing was written, and the caller may try again after the pause. */
export class QuotaUsedUp extends Schema.TaggedError<QuotaUsedUp>()("QuotaUsedUp", {
  quota: Schema.Literals(["maxPending", "createsPerSecond"]),
  limit: Schema.Number,
  retryAfterMs: Schema.Number,
}) {}

export interface AskedCreate {
  readonly namespace: string
  readonly timerId?: string
}

/** The result for an admitted create: `free`, or the estimate that counts it and must be told its answer. */
export type Admission = "free" | PendingEstimate

export interface QuotaParts {
  readonly directory: Pick<NamespaceDirectory["Service"], "of" | "onChange">
  readonly store: Pick<TimerStore["Service"], "count" | "find">
  readonly clock: Clock.Clock
  /** How many nodes share the creates per second of a namespace. */
  readonly nodes: () => number
  /** How many pending timers a namespace may have that has no limit of its own. Without it there is no limit. */
  readonly maxPendingByDefault?: number | undefined
}

const shortestRetryMs = 1_000
/** How many refused creates of one call are looked up, in case they only replace a pending timer. */
const lookedUpAtMost = 100
const lookedUpAtOnce = 8
/** A lower limit of the service always applies, because the store can grow by as much between two reads of the tally. */
const alwaysAppliedBelow = 1_000_000
/** A count stops at the limit. Callers wait for it if the limit of the service is at most this. */
const awaitedCountAtMost = 10_000
const readTallyEveryMs = 10_000
const backgroundCountsAtMost = 2
/** Estimates of namespaces. If there are more, the oldest is dropped, and its namespace is counted again later. */
const estimatesAtMost = 10_000

export class Quotas {
  readonly #parts: QuotaParts
  readonly #pending = new Map<string, PendingEstimate>()
  readonly #buckets = new Map<string, TokenBucket>()
  /** The limit of namespaces that have none of their own. Undefined while no namespace can have reached it. */
  #appliedByDefault: number | undefined
  #backgroundCounts = 0

  constructor(parts: QuotaParts) {
    this.#parts = parts
    this.notePendingInStore(0)
    parts.directory.onChange(() => this.#forgetUnset())
  }

  /** Whether the namespace has a quota at all. If not, there is nothing to check. */
  covers(namespace: string): boolean {
    const { maxPending, createsPerSecond } = this.#parts.directory.of(namespace).settings
    return (maxPending ?? this.#appliedByDefault) !== undefined || createsPerSecond !== undefined
  }

  /** Decides from the pending timers of the whole store whether the limit of the service applies. */
  notePendingInStore(pending: number): void {
    const { maxPendingByDefault: limit } = this.#parts
    const applies = limit !== undefined && (limit < alwaysAppliedBelow || pending >= limit / 2)
    this.#appliedByDefault = applies ? limit : undefined
  }

  /** Never ends. Keeps the decision up to date, as long as it depends on the store. */
  watchStore(store: Pick<TimerStore["Service"], "tally">): Effect.Effect<void> {
    const limit = this.#parts.maxPendingByDefault
    if (limit === undefined || limit < alwaysAppliedBelow) return Effect.void
    return store.tally.pipe(
      Effect.map((tally) => this.notePendingInStore(pendingOf(tally))),
      // The last decision stays in force.
      Effect.ignore,
      Effect.andThen(Effect.sleep(readTallyEveryMs)),
      Effect.forever,
    )
  }

  /**
   * Decides for each create, in order, whether it may be written. If the call is interrupted, it has admitted nothing.
   */
  admit(asked: ReadonlyArray<AskedCreate>): Effect.Effect<ReadonlyArray<Admission | QuotaUsedUp>> {
    const self = this
    return Effect.gen(function* () {
      const byNamespace = new Map<string, number>()
      for (const { namespace } of asked) byNamespace.set(namespace, (byNamespace.get(namespace) ?? 0) + 1)
      for (const [namespace, creates] of byNamespace) yield* self.#recount(namespace, creates)
      const admitted = asked.map(({ namespace }) => self.#admitIfRoom(namespace))
      yield* self.#admitReplacements(asked, admitted).pipe(
        Effect.onInterrupt(() =>
          Effect.sync(() => {
            for (const admission of admitted) {
              if (admission instanceof PendingEstimate) admission.noteAnswer(false)
            }
          }),
        ),
      )
      return admitted
    })
  }

  #maxPendingOf(namespace: string): number | undefined {
    return this.#parts.directory.of(namespace).settings.maxPending ?? this.#appliedByDefault
  }

  #admitIfRoom(namespace: string): Admission | QuotaUsedUp {
    const maxPending = this.#maxPendingOf(namespace)
    if (maxPending === undefined) return this.#admitInTurn(namespace)
    const estimate = this.#estimateOf(namespace)
    if (estimate.room(maxPending) >= 1) return this.#admitInTurn(namespace)
    const retryAfterMs = Math.max(shortestRetryMs, estimate.nextCountMs - this.#monotonicMs())
    return new QuotaUsedUp({ quota: "maxPending", limit: maxPending, retryAfterMs })
  }

  /** There is room for the create, or it needs none. What remains is the limit per second. */
  #admitInTurn(namespace: string): Admission | QuotaUsedUp {
    const { createsPerSecond } = this.#parts.directory.of(namespace).settings
    const maxPending = this.#maxPendingOf(namespace)
    if (createsPerSecond !== undefined) {
      const perSecond = createsPerSecond / this.#parts.nodes()
      const waitMs = this.#bucketOf(namespace).take(perSecond, this.#monotonicMs())
      if (waitMs > 0) {
        return new QuotaUsedUp({ quota: "createsPerSecond", limit: createsPerSecond, retryAfterMs: waitMs })
      }
    }
    if (maxPending === undefined) return "free"
    const estimate = this.#estimateOf(namespace)
    estimate.noteAdmitted()
    return estimate
  }

  /** Counts the timers before a namespace is refused, if a count is due, and always the first time. */
  #recount(namespace: string, creates: number): Effect.Effect<void> {
    const maxPending = this.#maxPendingOf(namespace)
    if (maxPending === undefined || maxPending === 0) return Effect.void
    const estimate = this.#estimateOf(namespace)
    const nodes = this.#parts.nodes()
    if (!estimate.isCountDue(maxPending, creates, nodes, this.#monotonicMs())) return Effect.void
    const recount = estimate.recount(maxPending, this.#parts.store.count, () => this.#monotonicMs())
    const isOwn = this.#parts.directory.of(namespace).settings.maxPending !== undefined
    // A create during a count can count twice: in the count, and as one that the count may have missed.
    if (isOwn || maxPending <= awaitedCountAtMost) return recount
    // The limit of the service is high, so a count can take seconds. Callers do not wait for it, and few run at once.
    if (this.#backgroundCounts >= backgroundCountsAtMost) return Effect.void
    this.#backgroundCounts++
    return recount.pipe(
      Effect.ensuring(
        Effect.sync(() => {
          this.#backgroundCounts--
        }),
      ),
      Effect.forkDetach,
      Effect.asVoid,
    )
  }

  /**
   * A create for a key that is already pending adds no timer, so this is looked up before the create is refused. It
   * still counts as one more until it is answered, because its timer may end, and be missing from a count, before the
   * write.
   */
  #admitReplacements(
    asked: ReadonlyArray<AskedCreate>,
    admitted: Array<Admission | QuotaUsedUp>,
  ): Effect.Effect<void> {
    const refused = asked.flatMap(({ namespace, timerId }, index) => {
      const answer = admitted[index]
      const isFull = answer instanceof QuotaUsedUp && answer.quota === "maxPending"
      return isFull && timerId !== undefined ? [{ index, key: keyOf(namespace, timerId) }] : []
    })
    return Effect.forEach(
      refused.slice(0, lookedUpAtMost),
      ({ index, key }) =>
        Effect.map(
          this.#parts.store.find(key).pipe(Effect.catch(() => Effect.succeed({ pending: undefined }))),
          ({ pending }) => {
            if (pending !== undefined) admitted[index] = this.#admitInTurn(key.namespace)
          },
        ),
      { concurrency: lookedUpAtOnce, discard: true },
    )
  }

  #estimateOf(namespace: string): PendingEstimate {
    let estimate = this.#pending.get(namespace)
    if (estimate === undefined) {
      if (this.#pending.size >= estimatesAtMost) {
        const [oldest] = this.#pending.keys()
        if (oldest !== undefined) this.#pending.delete(oldest)
      }
      estimate = new PendingEstimate(namespace)
      this.#pending.set(namespace, estimate)
    }
    return estimate
  }

  #bucketOf(namespace: string): TokenBucket {
    let bucket = this.#buckets.get(namespace)
    if (bucket === undefined) {
      bucket = new TokenBucket()
      this.#buckets.set(namespace, bucket)
    }
    return bucket
  }

  /** Drops the state of namespaces that no longer have a quota. */
  #forgetUnset(): void {
    const { directory } = this.#parts
    for (const name of this.#pending.keys()) {
      if (this.#maxPendingOf(name) === undefined) this.#pending.delete(name)
    }
    for (const name of this.#buckets.keys()) {
      if (directory.of(name).settings.createsPerSecond === undefined) this.#buckets.delete(name)
    }
  }

  #monotonicMs(): number {
    return Number(this.#parts.clock.monotonicTimeNanosUnsafe()) / 1e6
  }
}
