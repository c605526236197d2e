// A job on many timers, for tests that need one.
import type { BulkRecord } from "../../src/bulk/BulkRecord.ts"
import { sampleNow } from "../../testkit/timers.ts"

export const sampleJob: BulkRecord = {
  jobId: "01b8d832-8600-7000-8000-5d1f0c2ab9e4",
  do: "replay",
  filter: { namespaces: ["billing"] },
  reason: "test",
  perSecond: 500,
  expect: 10,
  state: "running",
  startedBy: { caller: "anonymous" },
  startedAt: sampleNow,
  done: { replayed: 0, skipped: 0 },
  examined: 0,
}
