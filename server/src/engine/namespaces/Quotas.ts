// Limits how many timers a namespace may create, as its operators have set it: per second, and pending at once. The
// node that receives a create checks the quotas before it writes. Changes, replays and re-armings are not limited.
//
// The store counts pending timers. That is expensive, so a node counts at most once a second, and spends at most a
// twentieth of its time on it. Between counts, every admitted create counts as one more timer, even if other timers
// have ended. So one node never admits too many, but it may refuse a create until the next count although there is room
// again. Several nodes learn of each other's creates only when they count. Together they may exceed the limit, by at
// most the room that each of them still had.
import { type Clock, Effect, Schema } from "effect"
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
}

const shortestRetryMs = 1_000
/** How many refused creates of one call are looked up, in case they only replace a pending timer. */
const lookedUpAtMost = 100
const lookedUpAtOnce = 8

export class Quotas {
  readonly #parts: QuotaParts
  readonly #pending = new Map<string, PendingEstimate>()
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(parts: QuotaParts) {
    this.#parts = parts
    parts.directory.onChange(() => this.#forgetUnset())
  }

  /** Whether the namespace has a quota at all. If not, there is nothing to check. */
  covers(namespace: string): boolean {
    const { maxPending, createsPerSecond } = this.#parts.directory.of(namespace).settings
    return maxPending !== undefined || createsPerSecond !== undefined
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

  #admitIfRoom(namespace: string): Admission | QuotaUsedUp {
    const { maxPending } = this.#parts.directory.of(namespace).settings
    if (maxPending === undefined) return this.#admitInTurn(namespace)
    const estimate = this.#estimateOf(namespace)
    if (estimate.room(maxPending) >= 1) return this.#admitInTurn(namespace)
    const retryAfterMs = Math.max(shortestRetryMs, estimate.nextCountMs - this.#monotonicMs())
    return new QuotaUsedUp({ quota: "maxPending", limit: maxPending, retryAfterMs })
  }

  /** There is room for the create, or it needs none. What remains is the limit per second. */
  #admitInTurn(namespace: string): Admission | QuotaUsedUp {
    const { maxPending, createsPerSecond } = this.#parts.directory.of(namespace).settings
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
    const { maxPending } = this.#parts.directory.of(namespace).settings
    if (maxPending === undefined || maxPending === 0) return Effect.void
    const estimate = this.#estimateOf(namespace)
    const nodes = this.#parts.nodes()
    if (!estimate.isCountDue(maxPending, creates, nodes, this.#monotonicMs())) return Effect.void
    return estimate.recount(maxPending, this.#parts.store.count, () => this.#monotonicMs())
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
      if (directory.of(name).settings.maxPending === undefined) this.#pending.delete(name)
    }
    for (const name of this.#buckets.keys()) {
      if (directory.of(name).settings.createsPerSecond === undefined) this.#buckets.delete(name)
    }
  }

  #monotonicMs(): number {
    return Number(this.#parts.clock.monotonicTimeNanosUnsafe()) / 1e6
  }
}
