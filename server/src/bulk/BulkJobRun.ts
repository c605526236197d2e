// Runs one job on many timers, step by step, until it is complete, somebody aborts it, or its starter loses the rights.
//
// The job stores how far it is about once a second, and another node continues from there. That is safe because steps
// can be repeated (engine/front/BulkSteps.ts). What a node did after it last stored is missing in the counts if the node
// crashes.
import { Clock, Effect, Schedule, type Semaphore } from "effect"
import type { BulkStepDone } from "../engine/front/BulkSteps.ts"
import { filterOf } from "../engine/front/filterOf.ts"
import type { Scheduler } from "../engine/front/Scheduler.ts"
import type { Ids } from "../ports/Ids.ts"
import type { ListFilter } from "../ports/TimerStore.ts"
import type { WallClock } from "../ports/WallClock.ts"
import type { BulkCounts, BulkMetrics } from "./BulkMetrics.ts"
import type { BulkRecord } from "./BulkRecord.ts"
import { BulkContended, type BulkRecords } from "./BulkRecords.ts"
import type { Starters } from "./Starters.ts"

export interface BulkJobRunParts {
  readonly records: BulkRecords
  readonly scheduler: Pick<Scheduler["Service"], "bulkStep">
  readonly starters: Starters
  readonly wall: WallClock["Service"]
  readonly ids: Ids["Service"]
  readonly metrics: BulkMetrics
  /** One step runs at a time, whatever the number of jobs, so that jobs leave room for timers. */
  readonly turn: Semaphore.Semaphore
  /** Whether this node still has to run the job. */
  readonly isMine: () => boolean
  /** Whether the job still runs, as far as this node knows. */
  readonly isRunning: (jobId: string) => boolean
  readonly onEnded: (ended: BulkRecord) => Effect.Effect<void>
}

/** How many timers one step handles at most. Few enough that the step holds the thread for a few milliseconds. */
const stepTimersMax = 200
/** At least this many steps make a second's work, so that the pace is even. */
const stepsPerSecond = 5
/** The shortest pause after a step: a step may have examined many timers and handled none. */
const pauseMs = 20
const storeEveryMs = 1_000
const retryMs = 1_000
const leaveWithinMs = 1_000

export const runBulkJob = (parts: BulkJobRunParts, found: BulkRecord): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { records } = parts
    // The last writes of an ended job may be missing.
    if (yield* stubborn(records.hasEnded(found.jobId))) return yield* stubborn(records.leave(found.jobId))
    const begun = yield* begin(parts, found)
    if (begun !== undefined) yield* new BulkJobRun(parts, begun).untilEnded
  })

/** Fixes the beginning, before anything is done. `undefined` if the job runs no more. */
const begin = Effect.fnUntraced(function* ({ records, wall, ids }: BulkJobRunParts, found: BulkRecord) {
  if (found.beginning !== undefined) {
    yield* Effect.logInfo(`the job ${shown(found)} goes on`)
    return found
  }
  const nowMs = wall.now()
  // The node that started the job may have a clock that is ahead.
  const beginning = { atMs: Math.min(found.startedAt, nowMs), id: ids.uuidV7(nowMs) }
  const begun = { ...found, beginning }
  if (!(yield* stubborn(records.keep(begun)))) return undefined
  yield* Effect.logInfo(`the job ${shown(found)} begins`)
  return begun
})

class BulkJobRun {
  readonly #parts: BulkJobRunParts
  readonly #filter: ListFilter
  #job: BulkRecord
  #storedAtMs = 0
  /** The time from the start of one step to the start of the next. */
  #pauseMs = 0

  constructor(parts: BulkJobRunParts, job: BulkRecord) {
    this.#parts = parts
    this.#job = job
    this.#filter = filterOf(job.filter, job.startedAt)
  }

  get untilEnded(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { starters, wall, isMine, isRunning } = this.#parts
      this.#storedAtMs = yield* Clock.currentTimeMillis
      for (;;) {
        const { jobId } = this.#job
        if (!isRunning(jobId)) return yield* this.#endedElsewhere
        if (!isMine()) return yield* this.#left
        const why = starters.whyNot(this.#job, wall.now())
        if (why !== undefined) return yield* this.#end("failed", why)
        const startedMs = yield* Clock.currentTimeMillis
        const isLast = yield* this.#step
        if (isLast === "failed") return yield* this.#end("failed", this.#job.problem)
        if (isLast) return yield* this.#end("done")
        if (!(yield* this.#stored)) return yield* this.#endedElsewhere
        const tookMs = (yield* Clock.currentTimeMillis) - startedMs
        yield* Effect.sleep(Math.max(0, this.#pauseMs - tookMs))
      }
    }).pipe(Effect.onInterrupt(() => this.#left))
  }

  /** The next owner goes on. If this cannot be stored, it repeats some steps. */
  get #left(): Effect.Effect<void> {
    const kept = Effect.suspend(() => this.#parts.records.keep(this.#job))
    return Effect.ignore(Effect.timeoutOption(Effect.interruptible(kept), leaveWithinMs))
  }

  /** Whether it was the last step. */
  get #step(): Effect.Effect<boolean | "failed"> {
    return Effect.gen({ self: this }, function* () {
      const { scheduler, turn } = this.#parts
      const { do: deed, filter, perSecond, beginning, cursor } = this.#job
      if (beginning === undefined) throw new Error("a job runs without a beginning")
      const limit = Math.max(1, Math.min(stepTimersMax, Math.ceil(perSecond / stepsPerSecond)))
      const step = scheduler.bulkStep({
        deed,
        namespace: filter.namespace ?? filter.namespaces ?? [],
        filter: this.#filter,
        beginning,
        limit,
        ...(cursor === undefined ? {} : { cursor }),
      })
      const result = yield* Effect.result(turn.withPermits(1)(step))
      if (result._tag === "Success") return yield* this.#took(result.success)
      const error = result.failure
      switch (error._tag) {
        case "TooManyNamespaces":
          this.#job = {
            ...this.#job,
            problem: `The filter matches more than ${error.most} namespaces now: start jobs with fewer namespaces.`,
          }
          return "failed"
        case "InvalidCursor":
          // Another version of the program made it. Steps can be repeated, so the job starts over.
          this.#job = withoutCursor(this.#job)
          return false
        case "StoreError":
          yield* Effect.logWarning(`the store failed in the job ${shown(this.#job)}: ${error.message}`)
          return yield* this.#waits("The store did not answer. The job tries again.", retryMs)
      }
    })
  }

  #took(done: BulkStepDone): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      const { refusal, next } = done
      // Of a step that is repeated, only what was done counts. The rest is found again.
      const counts = countsOf(
        this.#job.do,
        refusal === undefined ? done : { ...done, skipped: 0, inFlight: 0 },
      )
      this.#parts.metrics.handled(counts)
      const job = { ...this.#job, done: sum(this.#job.done, counts) }
      if (refusal !== undefined) {
        this.#job = job
        const why =
          refusal._tag === "NoOwner" ? refusal.message : "too many writes are waiting in the service"
        return yield* this.#waits(
          `Some timers could not be changed: ${why}. The job tries again.`,
          refusal.retryAfterMs,
        )
      }
      const handled = done.done + done.skipped + done.inFlight
      this.#pauseMs = Math.max(pauseMs, (handled * 1_000) / job.perSecond)
      const { problem: _, cursor: __, ...rest } = job
      this.#job = {
        ...rest,
        examined: job.examined + done.examined,
        ...(next === undefined ? {} : { cursor: next }),
      }
      return next === undefined
    })
  }

  /** The step is repeated later. */
  #waits(problem: string, afterMs: number): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      this.#pauseMs = Math.max(retryMs, afterMs)
      if (this.#job.problem === problem) return false
      this.#job = { ...this.#job, problem }
      this.#storedAtMs = Number.NEGATIVE_INFINITY
      yield* Effect.logWarning(`the job ${shown(this.#job)} waits: ${problem}`)
      return false
    })
  }

  /** Stores how far the job is, if it is time. `false` if the job runs no more. */
  get #stored(): Effect.Effect<boolean> {
    return Effect.gen({ self: this }, function* () {
      const nowMs = yield* Clock.currentTimeMillis
      if (nowMs - this.#storedAtMs < storeEveryMs) return true
      this.#storedAtMs = nowMs
      return yield* stubborn(this.#parts.records.keep(this.#job))
    })
  }

  #end(state: "done" | "failed", problem?: string): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const { records, wall } = this.#parts
      const job = withoutCursor(this.#job)
      const ended = yield* stubborn(
        records.end({ ...job, state, finishedAt: wall.now(), ...(problem === undefined ? {} : { problem }) }),
      )
      yield* ended.state === "aborted" ? this.#endedElsewhere : this.#told(ended)
    })
  }

  /** A caller aborted the job, or another node ended it. What this node did until now is added. */
  get #endedElsewhere(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const aborted = yield* stubborn(this.#parts.records.addLate(this.#job))
      if (aborted !== undefined) yield* this.#told(aborted)
    })
  }

  #told(ended: BulkRecord): Effect.Effect<void> {
    const { metrics, onEnded } = this.#parts
    metrics.ended(ended.state)
    const why = ended.problem === undefined ? "" : `: ${ended.problem}`
    const log = ended.state === "failed" ? Effect.logWarning : Effect.logInfo
    return Effect.andThen(onEnded(ended), log(`the job ${shown(ended)} is ${ended.state}${why}`))
  }
}

const shown = ({ jobId, do: deed }: BulkRecord): string => `${jobId} (${deed})`

const withoutCursor = ({ cursor: _, ...job }: BulkRecord): BulkRecord => job

const countsOf = (
  deed: BulkRecord["do"],
  { done, skipped, inFlight }: Pick<BulkStepDone, "done" | "skipped" | "inFlight">,
): BulkCounts => {
  switch (deed) {
    case "replay":
      return { replayed: done, skipped }
    case "discard":
      return { discarded: done, skipped }
    case "cancel":
      return { cancelled: done, inFlight, skipped }
  }
}

/** The counts of a job that has done nothing yet. */
export const noCounts = (deed: BulkRecord["do"]): BulkCounts =>
  countsOf(deed, { done: 0, skipped: 0, inFlight: 0 })

const sum = (sums: BulkCounts, counts: BulkCounts): BulkCounts => {
  const total: { -readonly [name in keyof BulkCounts]: BulkCounts[name] } = { ...sums }
  // `Object.entries` forgets the type of the names.
  for (const [name, count] of Object.entries(counts) as Array<[keyof BulkCounts, number]>)
    total[name] = (total[name] ?? 0) + count
  return total
}

/** Repeats a call to the store until it succeeds. Whoever stops the job interrupts it. */
const stubborn = <A, E extends { readonly message: string }>(call: Effect.Effect<A, E>): Effect.Effect<A> =>
  Effect.suspend(() => {
    let isTold = false
    const wait = (error: E) =>
      Effect.andThen(
        isTold || error instanceof BulkContended
          ? Effect.void
          : Effect.logWarning(`a job could not be stored, trying again: ${error.message}`),
        Effect.sync(() => {
          isTold = true
        }),
      )
    return call.pipe(
      Effect.tapError(wait),
      Effect.retry({ schedule: Schedule.spaced(retryMs) }),
      Effect.orDie,
    )
  })
