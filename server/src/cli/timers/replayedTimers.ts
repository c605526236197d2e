// What became of the timers that a job replayed, as text. The job keeps only counts. But a replayed timer can be
// recognised, and it is due at the time of its replay, which is while the job ran. So this reads what changed since then.
import type { BulkJob } from "@punctual/api/BulkJobs"
import { formatInstant } from "@punctual/api/Instant"
import { isReplayedLife } from "@punctual/api/isReplayedLife"
import { ListTimersAnswer } from "@punctual/api/ListTimers"
import { Effect } from "effect"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import { callService } from "../client/ServiceClient.ts"
import { countShown } from "../frame/figures.ts"
import { definedIn } from "./TimerFlags.ts"

/** The most timers of a kind that are read: one page of the API. */
const mostRead = 1_000

/** The clocks of two nodes may differ a little. */
const clockDifferenceMs = 1_000

interface Pages {
  readonly pending: ListTimersAnswer
  readonly dead: ListTimersAnswer
  /** Absent if the service cannot list them. */
  readonly ended?: ListTimersAnswer
}

/** `undefined` for a job that has replayed nothing. */
export const replayedTimersText = (
  service: ServiceAddress,
  job: BulkJob,
): Effect.Effect<string | undefined> => {
  if (job.do !== "replay" || (job.done.replayed ?? 0) === 0) return Effect.succeed(undefined)
  const { namespace, namespaces, idPrefix, tag, correlationId, host } = job.filter
  const from = formatInstant(job.startedAt - clockDifferenceMs)
  const filter = definedIn({ namespace, namespaces, idPrefix, tag, correlationId, host, from })
  const read = (...states: ReadonlyArray<string>) =>
    Effect.map(
      callService(service, {
        path: "/timers/list",
        fields: { ...filter, states, order: "asc", limit: mostRead },
        answer: ListTimersAnswer,
      }),
      ({ value }) => value,
    )
  return Effect.gen(function* () {
    // Pending ones first: a timer that ends meanwhile is then in a later list, and no timer is in none.
    const pending = yield* read("pending")
    const dead = yield* read("dead")
    // Over all namespaces the service lists no delivered timers.
    if (namespaces?.includes("*") === true) return textOf(job, { pending, dead })
    return textOf(job, { pending, dead, ended: yield* read("delivered", "cancelled") })
  }).pipe(Effect.catch(({ message }) => Effect.succeed(`not known: ${message}`)))
}

/** `4 delivered, 1 pending, 1 dead again` */
const textOf = (job: BulkJob, { pending, dead, ended }: Pages): string => {
  const fates = new Map<string, string>()
  for (const { timers } of [pending, dead, ...(ended === undefined ? [] : [ended])]) {
    for (const timer of timers) {
      // The state that was read last is the newest. A timer in flight is a pending one.
      const state = timer.state === "inFlight" ? "pending" : timer.state
      if (isOfJob(job, timer)) fates.set(`${timer.namespace} ${timer.timerId}`, state)
    }
  }
  const count = (state: string) => [...fates.values()].filter((fate) => fate === state).length
  const isCut = [pending, dead, ended].some((page) => page?.nextCursor !== undefined)
  const others = (job.done.replayed ?? 0) - fates.size
  const parts = [
    ...(ended === undefined ? [] : [`${countShown(count("delivered"))} delivered`]),
    ...(count("cancelled") > 0 ? [`${countShown(count("cancelled"))} cancelled`] : []),
    `${countShown(count("pending"))} pending`,
    `${countShown(count("dead"))} dead again`,
  ]
  if (isCut) return `at least ${parts.join(", ")}`
  if (others > 0) {
    const why = ended === undefined ? "delivered or cancelled" : "changed since, or no longer in the history"
    parts.push(`${countShown(others)} ${why}`)
  }
  return parts.join(", ")
}

const isOfJob = (
  { startedAt, finishedAt = Number.POSITIVE_INFINITY }: BulkJob,
  { createdAt, executeAt, revision }: ListTimersAnswer["timers"][number],
): boolean =>
  isReplayedLife({ createdAtMs: createdAt, executeAtMs: executeAt, revision }) &&
  executeAt >= startedAt - clockDifferenceMs &&
  executeAt <= finishedAt + clockDifferenceMs
