// Counts of timers by time. The store counts up to its limit. Beyond it, the census of the owners estimates pending
// timers by namespace. Each other owner is asked once, with a short timeout. The answer names those that gave no counts.
import { Effect } from "effect"
import type { CensusAnswer, CensusCounts, CensusQuestion } from "../../ports/CensusCounts.ts"
import type { PeerNode } from "../../ports/Peers.ts"
import type { HistogramQuery, StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { Census } from "../census/Census.ts"
import type { ClusterView } from "../ownership/ClusterView.ts"
import type { OwnWrites } from "../writing/OwnWrites.ts"

/** How many timers there are in each bucket. */
export interface Histogram {
  readonly counts: ReadonlyArray<number>
  readonly isEstimated: boolean
  readonly asOfMs: number
  /** Timers are left out. */
  readonly isCapped: boolean
  /** If counting stopped before the end of the span: where, if it counted by time. */
  readonly countedUntilMs?: number
  /** If counting stopped at its limit: how many timers were examined. */
  readonly examined?: number
  /** The names of nodes that gave no counts. */
  readonly missing?: ReadonlyArray<string>
}

export interface HistogramsParts {
  readonly store: Pick<TimerStore["Service"], "histogram">
  readonly wall: WallClock["Service"]
  readonly own: Pick<OwnWrites, "owns">
  /** The number of shards of the store; `undefined` until it is known. */
  readonly shards: () => number | undefined
  /** Absent if it is off. */
  readonly census: Pick<Census, "isActive" | "countsHere"> | undefined
  /** Absent if only one process uses the store. */
  readonly cluster:
    | { readonly view: ClusterView; readonly censusCounts: CensusCounts["Service"] | undefined }
    | undefined
}

const askWithinMs = 300
const askedAtOnce = 16
/** If the census finds this many, counting them exactly would only read rows up to its limit and stop. */
const tooManyToCount = 200_000

export class Histograms {
  readonly #parts: HistogramsParts

  constructor(parts: HistogramsParts) {
    this.#parts = parts
  }

  of(query: HistogramQuery): Effect.Effect<Histogram, StoreError> {
    const self = this
    return Effect.gen(function* () {
      const estimate = isEstimable(query) ? yield* self.#estimate(query) : undefined
      if (estimate !== undefined && !estimate.isCapped && sumOf(estimate.counts) > tooManyToCount)
        return estimate
      const exact = yield* self.#exact(query)
      if (!exact.isCapped || estimate === undefined) return exact
      // An estimate that is not complete may cover less than what was counted.
      return (estimate.countedUntilMs ?? query.exclusiveUntilMs) > (exact.countedUntilMs ?? 0)
        ? estimate
        : exact
    })
  }

  /** What this node counts in its own shards. `undefined` if it counts nothing. */
  countsHere(question: CensusQuestion): Effect.Effect<CensusAnswer | undefined> {
    return this.#parts.census?.countsHere(question) ?? Effect.succeed(undefined)
  }

  #exact(query: HistogramQuery): Effect.Effect<Histogram, StoreError> {
    return Effect.suspend(() => {
      const asOfMs = this.#parts.wall.now()
      return Effect.map(
        this.#parts.store.histogram(query),
        ({ counts, capped, examined, exclusiveCountedUntilMs }): Histogram => ({
          counts,
          isEstimated: false,
          asOfMs,
          isCapped: capped,
          ...(capped ? { examined } : {}),
          ...(exclusiveCountedUntilMs === undefined ? {} : { countedUntilMs: exclusiveCountedUntilMs }),
        }),
      )
    })
  }

  /** `undefined` if no owner has counted anything, or if the store is small. */
  #estimate(query: HistogramQuery): Effect.Effect<Histogram | undefined> {
    return Effect.suspend(() => {
      const { census, cluster } = this.#parts
      if (census?.isActive !== true) return Effect.succeed(undefined)
      const question = questionOf(query)
      const { isOwner, others, isComplete } = this.#owners()
      const here = isOwner
        ? [Effect.map(census.countsHere(question), (answer) => ({ node: cluster?.view.node ?? "", answer }))]
        : []
      const asked: ReadonlyArray<Effect.Effect<OwnerAnswer>> = [
        ...here,
        ...others.map((to) => this.#ask(to, question)),
      ]
      return Effect.map(Effect.all(asked, { concurrency: askedAtOnce }), (answers) =>
        merged(answers, query, isComplete),
      )
    })
  }

  #owners(): {
    readonly isOwner: boolean
    readonly others: ReadonlyArray<PeerNode>
    /** Every shard has an owner. */
    readonly isComplete: boolean
  } {
    const { shards, own, cluster } = this.#parts
    const others = new Map<string, PeerNode>()
    let [owned, free] = [0, 0]
    for (let shard = 0; shard < (shards() ?? 0); shard++) {
      const owner = own.owns(shard) ? undefined : cluster?.view.ownerOf(shard)
      if (owner !== undefined) others.set(owner.node, owner)
      else if (own.owns(shard)) owned++
      else free++
    }
    return { isOwner: owned > 0, others: [...others.values()], isComplete: free === 0 }
  }

  #ask(to: PeerNode, question: CensusQuestion): Effect.Effect<OwnerAnswer> {
    const counts = this.#parts.cluster?.censusCounts
    const nothing: OwnerAnswer = { node: to.node, answer: undefined }
    if (counts === undefined) return Effect.succeed(nothing)
    return counts.of(to, question).pipe(
      Effect.map((answer): OwnerAnswer => ({ node: to.node, answer })),
      Effect.timeoutOrElse({ duration: askWithinMs, orElse: () => Effect.succeed(nothing) }),
      Effect.catch(() => Effect.succeed(nothing)),
    )
  }
}

interface OwnerAnswer {
  readonly node: string
  readonly answer: CensusAnswer | undefined
}

/** The census knows only namespaces and times of pending timers. */
const isEstimable = (query: HistogramQuery): boolean =>
  [query.state].flat().every((state) => state === "pending") &&
  (query.idPrefix ?? query.timerId ?? query.correlationId ?? query.tag) === undefined &&
  (query.host ?? query.reason ?? query.error ?? query.minLateness) === undefined

const questionOf = ({
  namespace,
  inclusiveFromMs,
  exclusiveUntilMs,
  buckets,
}: HistogramQuery): CensusQuestion => {
  const span = { from: inclusiveFromMs, until: exclusiveUntilMs, buckets }
  if (typeof namespace === "string") return { ...span, names: [namespace] }
  return namespace.shards === undefined ? { ...span, names: namespace.names } : span
}

const sumOf = (counts: ReadonlyArray<number>): number => counts.reduce((sum, count) => sum + count, 0)

const merged = (
  owners: ReadonlyArray<OwnerAnswer>,
  { buckets }: HistogramQuery,
  isComplete: boolean,
): Histogram | undefined => {
  const answers = owners.flatMap(({ answer }) => answer ?? [])
  if (answers.length === 0) return undefined
  const missing = owners.flatMap(({ node, answer }) => (answer === undefined ? [node] : []))
  const countedUntilMs = Math.min(...answers.map(({ countedUntilMs: until = Infinity }) => until))
  return {
    counts: Array.from({ length: buckets }, (_, bucket) =>
      sumOf(answers.map(({ counts }) => counts[bucket] ?? 0)),
    ),
    isEstimated: true,
    asOfMs: Math.min(...answers.map(({ asOfMs }) => asOfMs)),
    isCapped:
      !isComplete ||
      missing.length > 0 ||
      Number.isFinite(countedUntilMs) ||
      answers.some(({ lacksSome }) => lacksSome),
    ...(Number.isFinite(countedUntilMs) ? { countedUntilMs } : {}),
    ...(missing.length === 0 ? {} : { missing }),
  }
}
