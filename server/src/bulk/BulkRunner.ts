// Runs the jobs on many timers. Every node has a runner, and only that of the node that owns shard 0 works. So jobs have
// one runner at a time without a lease of their own. If two runners overlap for a moment, they do the same steps, which
// is harmless.
import { bulkEndAction } from "@punctual/api/BulkJobs"
import type { AuditTrail } from "@punctual/door/AuditTrail"
import { Cause, Clock, Effect, FiberMap, Semaphore } from "effect"
import { Signal } from "../engine/Signal.ts"
import { type BulkJobRunParts, runBulkJob } from "./BulkJobRun.ts"
import { type BulkRecord, namespacesOfJob } from "./BulkRecord.ts"

export interface BulkRunnerParts
  extends Pick<BulkJobRunParts, "records" | "scheduler" | "starters" | "wall" | "ids" | "metrics"> {
  /** Whether this node owns shard 0. */
  readonly isOwner: () => boolean
  readonly trail: Pick<AuditTrail["Service"], "record">
}

const lookEveryMs = 1_000
const pruneEveryMs = 60_000
/** Jobs that have ended are kept for so long, and so many of them. */
const keptMs = 30 * 86_400_000
const keptMax = 1_000

export class BulkRunner {
  readonly #parts: BulkRunnerParts
  readonly #turn = Semaphore.makeUnsafe(1)
  readonly #signal = new Signal()
  /** The jobs that run, as this node last saw them. */
  #running: ReadonlySet<string> = new Set()

  constructor(parts: BulkRunnerParts) {
    this.#parts = parts
  }

  /** A caller of this node has started a job, so there is no need to wait for the next look. */
  noteStarted(): void {
    this.#signal.raise()
  }

  /** A caller of this node has aborted the job: no other step begins. */
  noteAborted(jobId: string): void {
    this.#running = new Set([...this.#running].filter((running) => running !== jobId))
  }

  get keepForever(): Effect.Effect<never> {
    return Effect.gen({ self: this }, function* () {
      const fibers = yield* FiberMap.make<string>()
      let pruneAtMs = 0
      for (;;) {
        if (this.#parts.isOwner()) {
          yield* Effect.catch(this.#look(fibers), ({ message }) =>
            Effect.logWarning(`the jobs on many timers cannot be read, trying again: ${message}`),
          )
          const nowMs = yield* Clock.currentTimeMillis
          if (nowMs >= pruneAtMs) {
            pruneAtMs = nowMs + pruneEveryMs
            yield* this.#prune
          }
        }
        this.#parts.metrics.running(yield* FiberMap.size(fibers))
        yield* this.#signal.waitAtMost(lookEveryMs)
      }
    }).pipe(Effect.scoped)
  }

  #look(fibers: FiberMap.FiberMap<string>) {
    return Effect.gen({ self: this }, function* () {
      const jobs = yield* this.#parts.records.running
      this.#running = new Set(jobs.map(({ jobId }) => jobId))
      for (const job of jobs) {
        yield* FiberMap.run(fibers, job.jobId, this.#run(job), { onlyIfMissing: true })
      }
    })
  }

  #run(job: BulkRecord): Effect.Effect<void> {
    const { isOwner, records, wall } = this.#parts
    return runBulkJob(
      {
        ...this.#parts,
        turn: this.#turn,
        isMine: isOwner,
        isRunning: (jobId) => this.#running.has(jobId),
        onEnded: (ended) => this.#audit(ended),
      },
      job,
    ).pipe(
      // A job with a defect would fail again at every look, so it ends.
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.void
          : Effect.logError(`the job ${job.jobId} failed for an unexpected reason`, cause).pipe(
              Effect.andThen(
                records.end({ ...job, state: "failed", finishedAt: wall.now(), problem: unforeseen }),
              ),
              Effect.ignore,
            ),
      ),
    )
  }

  get #prune(): Effect.Effect<void> {
    const { records, wall } = this.#parts
    return Effect.catch(records.prune(wall.now() - keptMs, keptMax), ({ message }) =>
      Effect.logWarning(`old jobs were not removed: ${message}`),
    )
  }

  /** The record of the start cannot know what the job did, so its end has a record too. */
  #audit({ jobId, do: deed, startedBy, state, done, problem, ...job }: BulkRecord): Effect.Effect<void> {
    const { replayed = 0, discarded = 0, cancelled = 0 } = done
    return this.#parts.trail.record({
      at: this.#parts.wall.now(),
      action: bulkEndAction,
      outcome: "done",
      ...startedBy,
      about: {
        jobId,
        do: deed,
        namespaces: namespacesOfJob(job),
        state,
        ...(problem === undefined ? {} : { problem }),
      },
      count: replayed + discarded + cancelled,
    })
  }
}

const unforeseen = "An unexpected error. The log of the service has the cause."
