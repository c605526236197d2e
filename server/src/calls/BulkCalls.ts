// The calls of the contract about jobs on many timers. A job acts with the rights of its starter in all namespaces of its
// filter, so a start is refused if the caller lacks one of them. Callers see only jobs whose namespaces they may read.
import {
  type AbortBulk,
  type BulkAnswer,
  BulkFilter,
  type BulkJob,
  bulkJobsMax,
  bulkPace,
  type GetBulk,
  type ListBulk,
  type ListBulkAnswer,
  type StartBulk,
} from "@punctual/api/BulkJobs"
import type { Action } from "@punctual/api/CallTerms"
import { invalidField } from "@punctual/api/invalidRequest"
import type { Limits } from "@punctual/api/Limits"
import { everyNamespace } from "@punctual/api/NamespaceChoices"
import {
  CountChanged,
  Forbidden,
  JobNotFound,
  Overloaded,
  type Problem,
  QuotaExceeded,
} from "@punctual/api/Problem"
import type { Caller } from "@punctual/door/Caller"
import { forbidden } from "@punctual/door/Gate"
import { Effect, SchemaParser } from "effect"
import { BulkJobs } from "../bulk/BulkJobs.ts"
import { type BulkRecord, namespacesOfJob } from "../bulk/BulkRecord.ts"
import type { BulkWriteError, TooManyJobs } from "../bulk/BulkRecords.ts"
import { actionsOf } from "../bulk/Starters.ts"
import { diedUntil } from "../engine/front/BulkSteps.ts"
import { filterOf } from "../engine/front/filterOf.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import { StoreError } from "../ports/TimerStore.ts"
import type { Asked, Call } from "./Call.ts"
import { refuse, refuseRead } from "./problemOf.ts"

export interface BulkCalls {
  readonly start: Call<StartBulk, BulkAnswer>
  readonly get: Call<GetBulk, BulkAnswer>
  readonly list: Call<ListBulk, ListBulkAnswer>
  readonly abort: Call<AbortBulk, BulkAnswer>
}

export const makeBulkCalls = (limits: Limits): Effect.Effect<BulkCalls, never, BulkJobs | Scheduler> =>
  Effect.gen(function* () {
    const jobs = yield* BulkJobs
    const scheduler = yield* Scheduler
    return {
      start: starting(jobs, scheduler),
      get: ({ body, caller }) => Effect.map(found(jobs, body.jobId, caller), answered),
      list: listing(jobs, limits),
      abort: ({ body, caller, note }) =>
        Effect.gen(function* () {
          const job = yield* found(jobs, body.jobId, caller)
          const refused = whyNotAllowed(caller, job)
          if (refused !== undefined) return yield* refused
          if (job.state !== "running") return answered(job)
          note?.({ about: { jobId: job.jobId, do: job.do, namespaces: namespacesOfJob(job) } })
          return answered(yield* Effect.catch(jobs.abort(job), refuseJob))
        }),
    }
  })

type Jobs = BulkJobs["Service"]

/** The job is refused if there are over a tenth more timers than the caller saw. */
const growthMax = 1.1

const starting =
  (jobs: Jobs, scheduler: Scheduler["Service"]): BulkCalls["start"] =>
  ({ body, caller, receivedAt, note }) =>
    Effect.gen(function* () {
      const refused = whyNotAllowed(caller, body)
      if (refused !== undefined) return yield* refused
      const { count, capped } = yield* counted(scheduler, body, receivedAt)
      if (count > body.expect * growthMax) return yield* countChanged(count, body.expect)
      const { perSecond = bulkPace.byDefault, ...asked } = body
      const { keyId } = caller
      note?.({ about: detailsOf(body) })
      const job = yield* Effect.catch(
        jobs.start({
          ...asked,
          perSecond,
          ...(capped ? { capped } : {}),
          startedBy: { caller: caller.name, ...(keyId === undefined ? {} : { keyId }) },
          startedAt: receivedAt,
        }),
        refuseJob,
      )
      note?.({ about: { jobId: job.jobId, ...detailsOf(body) } })
      return answered(job)
    })

/** The same count as that of the call with which callers look first. */
const counted = (scheduler: Scheduler["Service"], { do: deed, filter }: StartBulk, nowMs: number) => {
  const selected = filterOf(filter, nowMs)
  const namespace = filter.namespace ?? filter.namespaces ?? []
  const query =
    deed === "cancel"
      ? { ...selected, namespace, state: "pending" as const }
      : { ...diedUntil(selected, { atMs: nowMs }), namespace, state: "dead" as const }
  return Effect.catch(scheduler.count(query), (error) =>
    error._tag === "TooManyNamespaces"
      ? Effect.fail(
          invalidField(
            "/filter/namespaces",
            `match more than ${error.most} namespaces: name them, or use longer prefixes`,
          ),
        )
      : refuseRead(error),
  )
}

const listing =
  (jobs: Jobs, limits: Limits): BulkCalls["list"] =>
  ({ body: { cursor, limit = limits.listPageDefault }, caller }) => {
    const beforeId = cursor === undefined ? undefined : idOfCursor(cursor)
    if (cursor !== undefined && beforeId === undefined)
      return Effect.fail(invalidField("/cursor", "must be the nextCursor of an earlier answer"))
    return Effect.matchEffect(readable(jobs, caller, beforeId, limit + 1), {
      onFailure: refuseDocuments,
      onSuccess: (found) => {
        const page = found.slice(0, limit)
        const last = page.at(-1)
        return Effect.succeed({
          jobs: page.map(shownJob),
          ...(found.length > limit && last !== undefined ? { nextCursor: cursorOf(last.jobId) } : {}),
        })
      },
    })
  }

const readAtOnce = 200

/**
 * At least the wanted number of jobs that the caller may read, or all of them. Other jobs are skipped here, because a cursor
 * with the id of such a job would show that it exists. A store keeps about 1,000 jobs, so this ends soon.
 */
const readable = (jobs: Jobs, caller: Caller, beforeId: string | undefined, wanted: number) =>
  Effect.gen(function* () {
    const found: Array<BulkRecord> = []
    let before = beforeId
    do {
      const page = yield* jobs.page(before, readAtOnce)
      found.push(...page.jobs.filter((job) => mayRead(caller, job)))
      before = page.nextBeforeId
    } while (before !== undefined && found.length < wanted)
    return found
  })

/** A job that the caller may not read is as if it did not exist. */
const found = (jobs: Jobs, jobId: string, caller: Caller): Effect.Effect<BulkRecord, Problem> =>
  Effect.matchEffect(jobs.find(jobId), {
    onFailure: refuseDocuments,
    onSuccess: (job) =>
      job === undefined || !mayRead(caller, job)
        ? Effect.fail(
            new JobNotFound({
              detail: "There is no job with this id, or the key may not read all its namespaces.",
            }),
          )
        : Effect.succeed(job),
  })

const mayRead = (caller: Caller, job: BulkRecord): boolean =>
  namespacesOfJob(job).every((namespace) => caller.may("timers.read", namespace))

/** A job that is asked to act everywhere must not silently act on less. */
const notAllowed = (caller: Caller, action: Action, namespace: string): Problem => {
  const problem = forbidden(action, namespace)
  if (namespace !== everyNamespace) return problem
  const own = caller.rights.namespaces.map((pattern) => JSON.stringify(pattern)).join(", ")
  return new Forbidden({
    detail: `${problem.detail} A job never acts on fewer namespaces than it names. To act on those of the key, give "namespaces": [${own}].`,
  })
}

const whyNotAllowed = (caller: Caller, job: Pick<BulkJob, "do" | "filter">): Problem | undefined => {
  const missing = actionsOf[job.do].flatMap((action: Action) =>
    namespacesOfJob(job).flatMap((namespace) =>
      caller.may(action, namespace) ? [] : [notAllowed(caller, action, namespace)],
    ),
  )
  return missing[0]
}

const answered = (job: BulkRecord): BulkAnswer => ({ job: shownJob(job) })

/** Where a job continues is nothing for callers. */
const shownJob = ({ beginning: _, cursor: __, ...job }: BulkRecord): BulkJob => job

const detailsOf = ({ do: deed, filter, reason, expect, perSecond }: Asked<StartBulk>["body"]) => ({
  do: deed,
  filter: encodeFilter(filter),
  reason,
  expect,
  ...(perSecond === undefined ? {} : { perSecond }),
})

const encodeFilter = SchemaParser.encodeUnknownSync(BulkFilter)

const countChanged = (count: number, expect: number): CountChanged =>
  new CountChanged({
    detail: `The filter matches ${count} ${count === 1 ? "timer" : "timers"} now, over 10 % more than the ${expect} that were expected. Nothing was started: look at the timers again, then start the job with the new count.`,
    currentCount: count,
  })

const refuseDocuments = ({ message, isFatal }: { readonly message: string; readonly isFatal: boolean }) =>
  refuseRead(new StoreError({ message, isFatal }))

const refuseJob = (error: BulkWriteError | TooManyJobs): Effect.Effect<never, Problem> => {
  switch (error._tag) {
    case "TooManyJobs":
      return Effect.fail(
        new QuotaExceeded({
          detail: `${bulkJobsMax} jobs are running, which is the limit. Nothing was started: wait until one has ended, or abort one.`,
          quota: "bulkJobs",
          retryAfterSeconds: 10,
          written: "no",
        }),
      )
    case "BulkContended":
      return Effect.fail(
        new Overloaded({
          detail: "Other callers are changing the jobs. Nothing was changed: retry.",
          retryAfterSeconds: 1,
          written: "no",
        }),
      )
    case "DocumentRefused":
      return Effect.die(new Error(error.message))
    case "DocumentsError":
      return refuse(new StoreError({ message: error.message, isFatal: error.isFatal }))
  }
}

/** The cursor is opaque to callers, so that its form can change. */
const cursorOf = (jobId: string): string => Buffer.from(`1:${jobId}`).toString("base64url")

const idOfCursor = (cursor: string): string | undefined =>
  /^1:([0-9a-f-]{36})$/.exec(Buffer.from(cursor, "base64url").toString())?.[1]
