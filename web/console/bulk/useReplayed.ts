/**
 * What became of the timers that a job replayed. The job keeps only counts. But a replayed timer can be recognised, and
 * it is due at the time of its replay, which is while the job ran. So the page reads what changed since the job began.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useLiveInterval } from "../../kit/live.ts"
import { call } from "../../kit/serviceCall.ts"
import type { Timer, TimerPage } from "../api.ts"
import type { BulkJob } from "../bulk/bulkJob.ts"
import { isReplayed } from "../isReplayed.ts"
import { rowKey } from "../timers/useTimerPages.ts"

export const fates = ["delivered", "pending", "dead", "cancelled"] as const
export type Fate = (typeof fates)[number]

export interface ReplayedTimers {
  readonly timers: ReadonlyArray<Timer>
  readonly counts: Readonly<Record<Fate, number>>
  /** Pending timers and dead letters are complete, so the others have ended. Undefined if a limit cut them. */
  readonly ended: number | undefined
  /** A limit cut the list, so that there may be more than these. */
  readonly isCut: boolean
}

/** The most timers of each kind that the page reads. It is one page of the API. */
export const replayedMax = 1_000

const followMs = 5_000

/** The clocks of two nodes may differ a little. */
const clockDifferenceMs = 1_000

export const useReplayed = (job: BulkJob) => {
  const live = useLiveInterval(followMs)
  return useQuery({
    queryKey: ["bulk-replayed", job.jobId, job.finishedAt],
    queryFn: ({ signal }) => readReplayed(job, signal),
    placeholderData: keepPreviousData,
    // What has ended stays as it is.
    refetchInterval: ({ state: { data } }) =>
      job.state === "running" || data === undefined || data.counts.pending > 0 ? live : false,
  })
}

const readReplayed = async (job: BulkJob, signal: AbortSignal): Promise<ReplayedTimers> => {
  const filter = filterSince(job)
  const read = (states: ReadonlyArray<Fate>) =>
    call<TimerPage>("timers/list", { ...filter, states, order: "asc", limit: replayedMax }, signal)
  // Over all namespaces the service lists no delivered timers.
  const isListable = filter.namespaces?.includes("*") !== true
  // Pending ones first: a timer that ends meanwhile is then in a later list, and no timer is in none.
  const pending = await read(["pending"])
  const [dead, ended] = await Promise.all([
    read(["dead"]),
    isListable ? read(["delivered", "cancelled"]) : undefined,
  ])
  return replayedIn(job, { pending, dead, ended })
}

/** The filter of the job, without what a replay changes: when a timer died, why, and how late it was. */
const filterSince = ({ filter, startedAt }: BulkJob) => {
  const { namespace, namespaces, idPrefix, tag, correlationId, host } = filter
  const from = new Date(Date.parse(startedAt) - clockDifferenceMs).toISOString()
  return { namespace, namespaces, idPrefix, tag, correlationId, host, from }
}

interface Pages {
  readonly pending: TimerPage
  readonly dead: TimerPage
  /** Undefined if the service cannot list them. */
  readonly ended: TimerPage | undefined
}

/** Of the timers that were read, those that this job replayed. */
export const replayedIn = (job: BulkJob, { pending, dead, ended }: Pages): ReplayedTimers => {
  const fromMs = Date.parse(job.startedAt) - clockDifferenceMs
  const untilMs =
    job.finishedAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(job.finishedAt) + clockDifferenceMs
  const isOfJob = (timer: Timer): boolean => {
    const dueMs = Date.parse(timer.executeAt)
    return isReplayed(timer) && dueMs >= fromMs && dueMs <= untilMs
  }
  const listed = [dead, ended, pending].flatMap((page) => page?.timers.filter(isOfJob) ?? [])
  // The first one is the newest.
  const timers = [
    ...new Map(listed.toReversed().map((timer) => [rowKey(timer), timer])).values(),
  ].toReversed()
  const count = (fate: Fate) => timers.filter((timer) => fateOf(timer) === fate).length
  const isCut = (page: TimerPage | undefined) => page?.nextCursor !== undefined
  const counts = {
    delivered: count("delivered"),
    pending: count("pending"),
    dead: count("dead"),
    cancelled: count("cancelled"),
  }
  const replayed = job.done.replayed ?? 0
  return {
    timers,
    counts,
    ended: isCut(pending) || isCut(dead) ? undefined : Math.max(0, replayed - counts.pending - counts.dead),
    isCut: ended === undefined || [pending, dead, ended].some(isCut),
  }
}

/** A timer in flight is a pending one. */
export const fateOf = ({ state }: Timer): Fate => (state === "inFlight" ? "pending" : state)
