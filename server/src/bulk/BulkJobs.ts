// Jobs on many timers, as the calls of the contract use them: start, find, list and abort. Any node does this. The node
// that owns shard 0 runs the jobs.
import { type BulkJob, bulkJobsMax } from "@punctual/api/BulkJobs"
import { Documents, type DocumentsError } from "@punctual/documents/Documents"
import { AuditTrail } from "@punctual/door/AuditTrail"
import { Context, Effect, Layer } from "effect"
import { Engine } from "../engine/Engine.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import { Ids } from "../ports/Ids.ts"
import { WallClock } from "../ports/WallClock.ts"
import { noCounts } from "./BulkJobRun.ts"
import { BulkMetrics } from "./BulkMetrics.ts"
import type { BulkRecord } from "./BulkRecord.ts"
import { type BulkPage, BulkRecords, type BulkWriteError, type TooManyJobs } from "./BulkRecords.ts"
import { BulkRunner } from "./BulkRunner.ts"
import type { Starters } from "./Starters.ts"

export type NewBulkJob = Pick<
  BulkJob,
  "do" | "filter" | "reason" | "perSecond" | "expect" | "capped" | "startedBy" | "startedAt"
>

export class BulkJobs extends Context.Service<
  BulkJobs,
  {
    start(job: NewBulkJob): Effect.Effect<BulkRecord, BulkWriteError | TooManyJobs>
    find(jobId: string): Effect.Effect<BulkRecord | undefined, DocumentsError>
    /** Newest first. */
    page(beforeId: string | undefined, limit: number): Effect.Effect<BulkPage, DocumentsError>
    /** Answers the job as it ended: another caller, or its runner, may have ended it before. */
    abort(job: BulkRecord): Effect.Effect<BulkRecord, BulkWriteError>
  }
>()("punctual/bulk/BulkJobs") {
  static layer<R>(
    starters: Effect.Effect<Starters, never, R>,
  ): Layer.Layer<BulkJobs, never, R | Documents | AuditTrail | Engine | Scheduler | WallClock | Ids> {
    return Layer.effect(
      BulkJobs,
      Effect.gen(function* () {
        const documents = yield* Documents
        const wall = yield* WallClock
        const ids = yield* Ids
        const engine = yield* Engine
        const records = new BulkRecords({ documents, now: wall.now, runningMax: bulkJobsMax })
        const runner = new BulkRunner({
          records,
          wall,
          ids,
          scheduler: yield* Scheduler,
          starters: yield* starters,
          metrics: yield* BulkMetrics.make,
          trail: yield* AuditTrail,
          isOwner: () => engine.owns(0),
        })
        yield* Effect.forkScoped(runner.keepForever)
        return {
          start: (asked) =>
            Effect.suspend(() => {
              const jobId = ids.uuidV7(asked.startedAt)
              const job: BulkRecord = {
                ...asked,
                jobId,
                state: "running",
                done: noCounts(asked.do),
                examined: 0,
              }
              return Effect.as(
                Effect.tap(records.begin(job), () => Effect.sync(() => runner.noteStarted())),
                job,
              )
            }),
          find: (jobId) => records.find(jobId),
          page: (beforeId, limit) => records.page(beforeId, limit),
          abort: (job) =>
            Effect.suspend(() => {
              const { cursor: _, problem: __, ...rest } = job
              return Effect.tap(records.end({ ...rest, state: "aborted", finishedAt: wall.now() }), () =>
                Effect.sync(() => runner.noteAborted(job.jobId)),
              )
            }),
        }
      }),
    )
  }
}
