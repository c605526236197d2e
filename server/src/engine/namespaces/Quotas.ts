// How many timers a namespace may create, by what its operators have set: so many a second, and so many pending at
// once. Asked on the node that receives a create, before it is written; changes, replays and re-armings are not.
//
// Pending timers are counted by the store. That costs, so it is done at most once a second and in at most a twentieth
// of the time; in between every admitted create is taken for one more, whatever has ended meanwhile. So one node never
// lets more in than it should, and may refuse what had just become possible until it counts again. Several nodes do
// not know of each other's creates until they count: they may let too many in, together, by as much as each still had
// room for.
import { type Clock, Effect, Schema } from "effect"
import { keyOf } from "../../domain/TimerKey.ts"
import type { TimerStore } from "../../ports/TimerStore.ts"
import type { NamespaceDirectory } from "./NamespaceDirectory.ts"
import { PendingEstimate } from "./PendingEstimate.ts"
import { TokenBucket } from "./TokenBucket.ts"

export type QuotaName = "maxPending" | "createsPerSecond"

/** The namespace has used up what it may create: nothing was written, ask again after the pause. */
export class QuotaUsedUp extends Schema.TaggedError<QuotaUsedUp>()("QuotaUsedUp", {
  quota: Schema.Literals(["maxPending", "createsPerSecond"]),
  limit: Schema.Number,
  retryAfterMs: Schema.Number,
}) {}

export interface AskedCreate {
  readonly namespace: string
  readonly timerId?: string
}

/** Of a create that was let in: `free`, or counted as one more pending timer in what is to be told of its answer. */
export type Admission = "free" | PendingEstimate

export interface QuotaParts {
  readonly directory: Pick<NamespaceDirectory["Service"], "of" | "onChange">
  readonly store: Pick<TimerStore["Service"], "count" | "find">
  readonly clock: Clock.Clock
  /** How many nodes share what a namespace may create a second. */
  readonly nodes: () => number
}

const shortestRetryMs = 1_000
/** Of one call, how many refused creates are looked up for a timer that they would replace. */
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

  /** Whether the namespace has a quota at all: if not, nothing need be asked. */
  covers(namespace: string): boolean {
    const { maxPending, createsPerSecond } = this.#parts.directory.of(namespace).settings
    return maxPending !== undefined || createsPerSecond !== undefined
  }

  /** For each in order, whether it may be written. Whoever is interrupted here has let nothing in. */
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

  /** There is room for it, or it needs none: what is left to ask is whether there were too many just now. */
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

  /** Before a namespace is refused, its timers are counted, if that is due; and the first time in any case. */
  #recount(namespace: string, creates: number): Effect.Effect<void> {
    const { maxPending } = this.#parts.directory.of(namespace).settings
    if (maxPending === undefined || maxPending === 0) return Effect.void
    const estimate = this.#estimateOf(namespace)
    const nodes = this.#parts.nodes()
    if (!estimate.isCountDue(maxPending, creates, nodes, this.#monotonicMs())) return Effect.void
    return estimate.recount(maxPending, this.#parts.store.count, () => this.#monotonicMs())
  }

  /**
   * A key that is pending already is no further timer, so that is looked up before its create is refused. It is taken
   * for one more all the same until it is answered: its timer may end, and be counted as gone, before it is written.
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

  /** So that no more is remembered than there are namespaces with quotas. */
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
