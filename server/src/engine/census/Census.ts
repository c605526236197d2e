// Counts the pending timers of this node's shards by namespace and hour, for histograms over more timers than a call may
// count. It reads the due order of the shards in small pages, with long rests, and then follows the answers of writes.
// It writes nothing, and after a restart it begins again. A small store needs no census: calls can count all of it.
import { type Clock, Effect } from "effect"
import { pendingOf } from "../../domain/Decision.ts"
import type { Cursor } from "../../domain/DueOrder.ts"
import type { WriteAnswer, WriteItem } from "../../domain/WriteItem.ts"
import type { CensusAnswer, CensusQuestion } from "../../ports/CensusCounts.ts"
import type { StoreError, TimerStore } from "../../ports/TimerStore.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import type { EngineMetrics } from "../EngineMetrics.ts"
import type { HeldShard } from "../ownership/LeaseHolder.ts"
import { CensusTable } from "./CensusTable.ts"
import { pendingMoveOf } from "./PendingMove.ts"

export interface CensusLimits {
  /** A store with fewer pending timers is not counted. */
  readonly leastPending: number
  readonly cells: number
  /** How many timers are read at once. */
  readonly page: number
  /** The rest after a page is this many times as long as the page took. */
  readonly restFactor: number
  readonly shortestRestMs: number
  /** If the rest would be longer, the page has mostly waited for the store, and was not busy. */
  readonly longestRestMs: number
  /** How often it looks whether a pass is due. */
  readonly lookEveryMs: number
  /** A pass begins this long after the last one began, even if the shards are the same. */
  readonly passEveryMs: number
}

export const defaultCensusLimits: CensusLimits = {
  leastPending: 100_000,
  cells: 100_000,
  page: 1_000,
  // Two percent of one core.
  restFactor: 49,
  shortestRestMs: 20,
  longestRestMs: 10_000,
  lookEveryMs: 10_000,
  passEveryMs: 3_600_000,
}

export interface CensusParts {
  readonly limits: CensusLimits
  readonly store: Pick<TimerStore["Service"], "dueHeads" | "tally">
  /** The shards that this node owns now. */
  readonly held: () => ReadonlyArray<HeldShard>
  readonly wall: WallClock["Service"]
  readonly clock: Clock.Clock
  readonly metrics: EngineMetrics
}

const retryAfterMs = 5_000

export class Census {
  readonly #parts: CensusParts
  #isActive = false
  /** The last complete pass. */
  #current: CensusTable | undefined
  /** The pass that is under way. */
  #next: CensusTable | undefined

  constructor(parts: CensusParts) {
    this.#parts = parts
  }

  /** Whether the store is large enough for a census. */
  get isActive(): boolean {
    return this.#isActive
  }

  /** Takes the answer to a write of an owned shard, in queue order. */
  noteAnswer(held: HeldShard, item: WriteItem, answer: WriteAnswer, vacated: Cursor | undefined): void {
    if (this.#current === undefined && this.#next === undefined) return
    const move = pendingMoveOf(item, answer, vacated)
    if (move === undefined) return
    this.#current?.note(held, move)
    this.#next?.note(held, move)
  }

  /** What this node counts in its shards. `undefined` if it has counted nothing yet. */
  countsHere({ names, ...span }: CensusQuestion): Effect.Effect<CensusAnswer | undefined> {
    const self = this
    return Effect.gen(function* () {
      const table = self.#current ?? self.#next
      const scale = table?.scaleFor(self.#parts.held()) ?? 0
      if (table === undefined || scale === 0) return undefined
      const { completeUntilMs } = table
      const slices = table.cells.countsIn(span, names, scale)
      for (;;) {
        const slice = slices.next()
        if (slice.done === true) {
          return {
            ...slice.value,
            asOfMs: table.startedAtMs,
            ...(completeUntilMs < span.until ? { countedUntilMs: Math.max(span.from, completeUntilMs) } : {}),
          }
        }
        yield* Effect.yieldNow
      }
    })
  }

  /** Never ends. Timers do not depend on the census, so a defect in it is only logged. */
  readonly keepForever: Effect.Effect<never> = Effect.suspend(() => {
    const count = Effect.andThen(
      this.#look,
      Effect.suspend(() => (this.#isPassDue() ? this.#pass : Effect.void)),
    )
    return count.pipe(
      Effect.catchDefect((defect) => Effect.logError("the census broke and begins again", defect)),
      Effect.andThen(Effect.sleep(this.#parts.limits.lookEveryMs)),
      Effect.forever,
    )
  })

  readonly #look: Effect.Effect<void> = Effect.suspend(() => {
    return this.#parts.store.tally.pipe(
      Effect.map((tally) => this.#notePending(pendingOf(tally))),
      Effect.catch(afterFailure),
    )
  })

  #notePending(pending: number): void {
    const { limits, metrics } = this.#parts
    this.#isActive = pending >= limits.leastPending
    if (!this.#isActive) this.#current = undefined
    metrics.gauge("censusCells", this.#current?.cells.size ?? 0)
  }

  #isPassDue(): boolean {
    const { held, wall, limits } = this.#parts
    const shards = held()
    if (!this.#isActive || shards.length === 0) return false
    const current = this.#current
    return (
      current === undefined ||
      !current.isOf(shards) ||
      Math.abs(wall.now() - current.startedAtMs) >= limits.passEveryMs
    )
  }

  /** Counts all shards. If the node loses a shard meanwhile, the pass is given up, and a new one begins soon. */
  readonly #pass: Effect.Effect<void> = Effect.suspend(() => {
    const self = this
    const { held, wall, limits, metrics } = this.#parts
    const table = new CensusTable(held(), wall.now(), limits.cells)
    return Effect.gen(function* () {
      self.#next = table
      for (let asked = table.beginPage(); asked !== undefined; asked = table.beginPage()) {
        const { shard, epoch } = asked
        if (!held().some((one) => one.shard === shard && one.epoch === epoch)) return
        yield* self.#readPage(table, asked)
      }
      self.#current = table
      metrics.censusPassed()
      metrics.gauge("censusCells", table.cells.size)
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          self.#next = undefined
        }),
      ),
    )
  })

  #readPage(
    table: CensusTable,
    { shard, exclusiveAfter }: HeldShard & { readonly exclusiveAfter: Cursor },
  ): Effect.Effect<void> {
    const self = this
    const { store, limits, clock, metrics } = this.#parts
    const { page: limit, restFactor, shortestRestMs, longestRestMs } = limits
    return Effect.gen(function* () {
      const startedNanos = clock.monotonicTimeNanosUnsafe()
      const query = { shard, exclusiveAfter, inclusiveUntilMs: Number.MAX_SAFE_INTEGER, limit }
      const isRead = yield* store.dueHeads(query).pipe(
        Effect.map((heads) => {
          table.finishPage(heads, heads.length < limit)
          return true
        }),
        Effect.catch((error) => {
          table.abandonPage()
          return Effect.as(afterFailure(error), false)
        }),
      )
      const busyMs = Number(clock.monotonicTimeNanosUnsafe() - startedNanos) / 1e6
      if (isRead) metrics.censusBusy(busyMs)
      const restMs = Math.min(longestRestMs, Math.max(shortestRestMs, busyMs * restFactor))
      yield* Effect.sleep(isRead ? restMs : retryAfterMs)
      if (self.#current === undefined) metrics.gauge("censusCells", table.cells.size)
    })
  }
}

/** After a fatal error the process is about to end. */
const afterFailure = (error: StoreError): Effect.Effect<void> =>
  error.isFatal ? Effect.never : Effect.logWarning(`the census could not read the store: ${error.message}`)
