/** The calls about jobs on many timers. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  AbortBulk,
  BulkAnswer,
  bulkJobsMax,
  GetBulk,
  ListBulkAnswer,
  makeListBulk,
  StartBulk,
} from "./BulkJobs.ts"
import { describeCall } from "./describeCall.ts"
import type { Limits } from "./Limits.ts"
import { CountChanged, commonProblems, JobNotFound } from "./Problem.ts"

const job = { jobId: "01b8d832-8600-7000-8000-5d1f0c2ab9e4" }

export const makeBulkGroup = (limits: Limits) =>
  HttpApiGroup.make("bulk")
    .add(
      HttpApiEndpoint.post("start", "/start", {
        payload: StartBulk,
        success: BulkAnswer,
        error: [...commonProblems, CountChanged],
      }).annotateMerge(
        describeCall(
          // The action depends on what the job does, so the call checks it.
          { action: "none", takesTurns: true, isAudited: true },
          "Start a job on many timers",
          {
            do: "replay",
            filter: { namespaces: ["billing", "team-*"], host: "hooks.example.com" },
            reason: "the receiver works again",
            perSecond: 200,
            expect: 1,
          },
          `Count the timers first: /timers/count with the same filter, and with state dead for replay and discard. The key needs timers.read and, for replay, dead.replay, for discard, dead.discard, for cancel, timers.cancel, in all namespaces of the filter. The job keeps the rights of this key, and stops if the key ends. It goes on after restarts. At most ${bulkJobsMax} jobs run at once.`,
        ),
      ),
      HttpApiEndpoint.post("get", "/get", {
        payload: GetBulk,
        success: BulkAnswer,
        error: [...commonProblems, JobNotFound],
      }).annotateMerge(
        describeCall(
          { action: "timers.read", checksNamespaces: true },
          "Get a job",
          job,
          "Answers what the job has done so far. Jobs that have ended are kept for 30 days.",
        ),
      ),
      HttpApiEndpoint.post("list", "/list", {
        payload: makeListBulk(limits),
        success: ListBulkAnswer,
        error: commonProblems,
      }).annotateMerge(
        describeCall(
          { action: "timers.read", checksNamespaces: true },
          "List jobs",
          { limit: 50 },
          "Answers jobs, newest first. The answer has only jobs whose namespaces the key may read. A page may be short or empty and still have a nextCursor.",
        ),
      ),
      HttpApiEndpoint.post("abort", "/abort", {
        payload: AbortBulk,
        success: BulkAnswer,
        error: [...commonProblems, JobNotFound],
      }).annotateMerge(
        describeCall(
          { action: "none", isAudited: true },
          "Stop a job",
          job,
          "The key needs the same rights as for the start. What the job has done stays done, and the timers that it works on at this moment are still handled: the counts may grow for a second. A job that has ended stays as it is.",
        ),
      ),
    )
    .prefix("/bulk")
    .annotateMerge(
      OpenApi.annotations({
        title: "Bulk",
        description: "Jobs that replay, discard or cancel many timers, also of several namespaces.",
      }),
    )
