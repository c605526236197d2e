/**
 * `/bulk/start`, `/bulk/get`, `/bulk/list` and `/bulk/abort`: jobs that replay, discard or cancel all timers that match
 * a filter, also of several namespaces. A caller counts first (`/timers/count`) and sends the count as `expect`. So a
 * filter that selects more than the caller saw starts nothing.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { makeCursor } from "./Cursor.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import type { Limits } from "./Limits.ts"
import { Namespace } from "./Namespace.ts"
import { BulkNamespaces } from "./NamespaceChoices.ts"
import { exactlyOneOf } from "./oneOf.ts"
import { perLimits } from "./perLimits.ts"
import { endsAfterItBegins, timerFilterFields } from "./TimerFilter.ts"
import { makeWrittenReason } from "./WrittenReason.ts"

export const bulkDeeds = ["replay", "discard", "cancel"] as const
export const bulkStates = ["running", "done", "aborted", "failed"] as const

/** How many timers a job handles in a second. */
export const bulkPace = { byDefault: 500, max: 5_000 } as const

/** How many jobs may run at once. */
export const bulkJobsMax = 10

/** The audit record of the end of a job has this action, although no call ends a job. */
export const bulkEndAction = "bulk.end"

const Deed = Schema.Literals(bulkDeeds).annotate({
  message: `must be one of ${bulkDeeds.join(", ")}`,
  description:
    "replay: arm dead letters again, due now. discard: remove dead letters for good. cancel: cancel pending timers.",
})

const filterFields = {
  namespace: Schema.optionalKey(Namespace),
  namespaces: Schema.optionalKey(BulkNamespaces),
  ...timerFilterFields,
}

export const BulkFilter = Schema.Struct(filterFields)
  .annotate({
    message: "must be an object of filters",
    description:
      "Selects timers: those that cancel pending ones, or dead letters. Give exactly one of namespace and namespaces. All filters must match. Without other filters it selects all timers of the namespaces.",
  })
  .check(exactlyOneOf("namespace", "namespaces"), endsAfterItBegins)
  .annotate({ identifier: "BulkFilterInput" })

/** Answers may gain fields, so their filter is a schema of its own. */
const ShownFilter = Schema.Struct(filterFields).annotate({
  identifier: "BulkFilter",
  description: "The filter that the starter gave.",
})

const paceMessage = `must be a whole number from 1 to ${bulkPace.max}`

const PerSecond = Schema.Number.annotate({ message: paceMessage }).check(
  Schema.isInt({ message: paceMessage }),
  Schema.isBetween(
    { minimum: 1, maximum: bulkPace.max },
    {
      message: paceMessage,
      description: `How many timers the job may handle in a second (default ${bulkPace.byDefault}).`,
    },
  ),
)

const expectMessage = "must be a whole number, the count of /timers/count"

const Expect = Schema.Number.annotate({ message: expectMessage }).check(
  Schema.isInt({ message: expectMessage }),
  Schema.isBetween(
    { minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    {
      message: expectMessage,
      description:
        "The count that /timers/count answered for the same filter. If there are over 10 % more now, the job does not start.",
    },
  ),
)

/** Pending timers have no reason, so such a filter would match nothing. */
const hasReasonOnlyIfDead = Schema.makeFilter(
  (body: { readonly do: string; readonly filter: { readonly reason?: string } }) =>
    body.do !== "cancel" || body.filter.reason === undefined
      ? undefined
      : {
          path: ["filter", "reason"],
          issue: "is only for dead letters, but this job cancels pending timers: remove it",
        },
  {
    toJsonSchema: () => ({
      anyOf: [
        { properties: { do: { enum: ["replay", "discard"] } } },
        { properties: { filter: { not: { required: ["reason"] } } } },
      ],
    }),
  },
)

export const StartBulk = Schema.Struct({
  do: Deed,
  filter: BulkFilter,
  reason: makeWrittenReason("Why. The job and the audit record show it."),
  perSecond: Schema.optionalKey(PerSecond),
  expect: Expect,
})
  .annotate({
    message: "must be a JSON object",
    description: "What the job does, with which timers, and why.",
  })
  .check(hasReasonOnlyIfDead)
  .annotate({ identifier: "StartBulk" })

export type StartBulk = typeof StartBulk.Type

const jobIdMessage = "must be the jobId of a job"

const JobId = Schema.String.annotate({ message: jobIdMessage }).check(
  Schema.isPattern(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u, {
    message: jobIdMessage,
    description: "The id of a job.",
  }),
)

const oneJob = (identifier: string) =>
  Schema.Struct({ jobId: JobId }).annotate({ message: "must be a JSON object", identifier })

export const GetBulk = oneJob("GetBulk")
export type GetBulk = typeof GetBulk.Type

export const AbortBulk = oneJob("AbortBulk")
export type AbortBulk = typeof AbortBulk.Type

export const makeListBulk = perLimits((limits: Limits) => {
  const limitMessage = `must be a whole number from 1 to ${limits.listPage}`
  return Schema.Struct({
    cursor: Schema.optionalKey(makeCursor(limits)),
    limit: Schema.optionalKey(
      Schema.Number.annotate({ message: limitMessage }).check(
        Schema.isInt({ message: limitMessage }),
        Schema.isBetween(
          { minimum: 1, maximum: limits.listPage },
          { message: limitMessage, description: `The size of a page (default ${limits.listPageDefault}).` },
        ),
      ),
    ),
  })
    .annotate({ message: "must be a JSON object", description: "Lists jobs, newest first." })
    .annotate({ identifier: "ListBulk" })
})

export type ListBulk = ReturnType<typeof makeListBulk>["Type"]

const countOf = (description: string) => Schema.optionalKey(Count.annotate({ description }))

const Done = Schema.Struct({
  replayed: countOf("Dead letters that were armed again."),
  discarded: countOf("Dead letters that were removed."),
  cancelled: countOf("Timers that were cancelled."),
  inFlight: countOf(
    "Timers that were in flight. That attempt cannot be stopped, but there will be no other.",
  ),
  skipped: countOf(
    "Dead letters that stay as they are, because a timer with their id is pending; or timers that changed in the moment when they were to be cancelled; or timers that cannot be read.",
  ),
}).annotate({
  identifier: "BulkDone",
  description:
    "What the job has done so far. After a crash of the node the counts may lack the work of about a second.",
})

const Starter = Schema.Struct({
  caller: Schema.String.annotate({
    description:
      "The label of the key; anonymous if no key was needed; program if the service is part of the calling program.",
  }),
  keyId: Schema.optionalKey(Schema.String.annotate({ description: "Absent if the caller had no key." })),
}).annotate({ identifier: "BulkStarter", description: "Who started the job." })

/** The fields of a job. The store keeps them in the same form. */
export const bulkJobFields = {
  jobId: JobId,
  do: Deed,
  filter: ShownFilter,
  reason: Schema.String,
  perSecond: Count,
  expect: Count,
  capped: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description: "The count at the start stopped at its limit, so there are at least as many timers.",
    }),
  ),
  state: Schema.Literals(bulkStates).annotate({
    description: "aborted: a caller stopped it. failed: the service stopped it; problem says why.",
  }),
  startedBy: Starter,
  startedAt: Instant.pipe(
    described("When the job was started. It leaves timers alone that were created or died later."),
  ),
  finishedAt: Schema.optionalKey(Instant),
  done: Done,
  examined: Count.annotate({ description: "How many timers the job has looked at." }),
  problem: Schema.optionalKey(
    Schema.String.annotate({ description: "Why the job failed; or, while it runs, why it waits." }),
  ),
}

export const BulkJob = Schema.Struct(bulkJobFields).annotate({
  identifier: "BulkJob",
  description: "A job on many timers.",
})

export type BulkJob = typeof BulkJob.Type

export const BulkAnswer = Schema.Struct({ job: BulkJob }).annotate({
  identifier: "BulkAnswer",
  description: "One job.",
})

export type BulkAnswer = typeof BulkAnswer.Type

export const ListBulkAnswer = Schema.Struct({
  jobs: Schema.Array(BulkJob),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({
      description: "Present if there may be more jobs, even if this page is empty. Send it as cursor.",
    }),
  ),
}).annotate({ identifier: "ListBulkAnswer", description: "One page of jobs, newest first." })

export type ListBulkAnswer = typeof ListBulkAnswer.Type
