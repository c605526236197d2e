// A backup may contain jobs on many timers that ran when it was made. In the store that it was made of, they have gone on
// since. So they end as failed, and an operator starts new ones if they are still wanted.
import { bulkJobsMax } from "@punctual/api/BulkJobs"
import type { Documents } from "@punctual/documents/Documents"
import { Effect } from "effect"
import { BulkRecords, type BulkWriteError } from "../bulk/BulkRecords.ts"

export const stopBulkJobs = (
  documents: Documents["Service"],
  nowMs: number,
): Effect.Effect<void, BulkWriteError> =>
  Effect.gen(function* () {
    const records = new BulkRecords({ documents, now: () => nowMs, runningMax: bulkJobsMax })
    for (const { cursor: _, ...job } of yield* records.running) {
      yield* records.end({ ...job, state: "failed", finishedAt: nowMs, problem })
    }
  })

const problem = "The store was restored from a backup that was made while the job ran."
