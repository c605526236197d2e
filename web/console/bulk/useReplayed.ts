/**
 * What became of the timers that a job replayed. The job keeps only counts. But a replayed timer can be recognised, and
 * it is due at the time of its replay, which is while the job ran. So the page reads what changed since the job began.
 */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useLiveInterval } from "../../kit/live.ts"
import { ApiProblem, call } from "../../kit/serviceCall.ts"
import type { Timer, TimerPage } from "../api.ts"
import { isReplayed } from "../isReplayed.ts"
import { namespacePage } from "../namespacePage.ts"
import { rowKey } from "../timers/useTimerPages.ts"
import { type BulkJob, numberText } from "./bulkJob.ts"

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

/** One list names at most this many namespaces. */
const namesMax = 20

/** Whether the job has replayed timers, so that something may have become of them. */
export const hasReplayed = ({ do: deed, done }: BulkJob): boolean =>
  deed === "replay" && (done.replayed ?? 0) > 0

/** `isWanted`: false for a job whose timers the page does not ask for. */
export const useReplayed = (job: BulkJob, isWanted = true) => {
  const live = useLiveInterval(followMs)
  return useQuery({
    enabled: isWanted && hasReplayed(job),
    queryKey: ["bulk-replayed", job.jobId, job.finishedAt],
    queryFn: ({ signal }) => readReplayed(job, signal),
    placeholderData: keepPreviousData,
    // What has ended stays as it is.
    refetchInterval: ({ state: { data } }) =>
      job.state === "running" || data === undefined || data.counts.pending > 0 ? live : false,
  })
}

/** The same, but undefined while a job that has just ended is still shown with older counts. */
export const useFate = (job: BulkJob, isWanted = true): ReplayedTimers | undefined => {
  const { data, isPlaceholderData } = useReplayed(job, isWanted)
  return isPlaceholderData ? undefined : data
}

const readReplayed = async (job: BulkJob, signal: AbortSignal): Promise<ReplayedTimers> => {
  const filter = filterSince(job)
  const read = (states: ReadonlyArray<Fate>, more: object = {}) =>
    call<TimerPage>("timers/list", { ...filter, ...more, states, order: "asc", limit: replayedMax }, signal)
  // Over all namespaces the service lists no delivered timers. If there are few namespaces, the page names them.
  const isOfAll = filter.namespaces?.includes("*") === true
  const names = isOfAll ? await everyName(signal) : undefined
  // Pending ones first: a timer that ends meanwhile is then in a later list, and no timer is in none.
  const pending = await read(["pending"])
  const [dead, ended] = await Promise.all([
    read(["dead"]),
    isOfAll && names === undefined
      ? undefined
      : read(["delivered", "cancelled"], names === undefined ? {} : { namespaces: names }),
  ])
  return replayedIn(job, { pending, dead, ended })
}

/** All namespaces by name. Undefined if there are too many, or if the reader may not see them. */
const everyName = async (signal: AbortSignal): Promise<ReadonlyArray<string> | undefined> => {
  try {
    const page = await namespacePage({ prefix: "", cursor: undefined, limit: namesMax }, signal)
    const names = page.namespaces.map(({ namespace }) => namespace)
    return page.nextCursor === undefined && names.length > 0 ? names : undefined
  } catch (error) {
    if (error instanceof ApiProblem && error.status === 403) return undefined
    throw error
  }
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

/** `5 replayed: 0 delivered, 5 dead again`. States in which no timer is are left out, except the one that is hoped for. */
export const fateText = (job: BulkJob, { counts, ended, isCut }: ReplayedTimers): string => {
  const { delivered, pending, dead, cancelled } = counts
  const isRestKnown = isCut && ended !== undefined
  const rest = isCut || ended === undefined ? 0 : ended - delivered - cancelled
  const parts: ReadonlyArray<readonly [count: number, word: string]> = [
    ...(isRestKnown ? [] : [[delivered, "delivered"] as const]),
    [pending, "pending"],
    [dead, "dead again"],
    ...(isRestKnown ? [[ended, "neither pending nor dead"] as const] : [[cancelled, "cancelled"] as const]),
    [rest, "changed since, or no longer in the history"],
  ]
  const least = isCut && ended === undefined ? "at least " : ""
  const shown = parts.filter(([count, word]) => count > 0 || word === "delivered")
  return `${numberText(job.done.replayed ?? 0)} replayed: ${least}${shown
    .map(([count, word]) => `${numberText(count)} ${word}`)
    .join(", ")}`
}
