/** The calls that list and count: timers that a filter selects, the lives of one key, and what happened over time. */
import { HttpApiEndpoint } from "effect/http-api"
import { describeCall } from "./describeCall.ts"
import type { Limits } from "./Limits.ts"
import { ListLivesAnswer, makeListLives } from "./ListLives.ts"
import { CountTimers, CountTimersAnswer, ListTimersAnswer, makeListTimers } from "./ListTimers.ts"
import { commonProblems } from "./Problem.ts"
import { ActivityAnswer, GetActivity } from "./TimerActivity.ts"
import { TimerHistogram, TimerHistogramAnswer } from "./TimerHistogram.ts"

export const listEndpoints = (limits: Limits) =>
  [
    HttpApiEndpoint.post("list", "/list", {
      payload: makeListTimers(limits),
      success: ListTimersAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.read", takesTurns: true },
        "List timers",
        { namespace: "billing", until: "2030-02-01T00:00:00Z", limit: 50 },
        "Answers one page of timers of one namespace or several. A timer that does not change while you read the pages appears exactly once. A page may be short or empty and still have a nextCursor.",
      ),
    ),
    HttpApiEndpoint.post("count", "/count", {
      payload: CountTimers,
      success: CountTimersAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.read", takesTurns: true },
        "Count timers",
        { namespace: "billing", state: "dead" },
        "Counting stops at a limit. Then capped is true.",
      ),
    ),
    HttpApiEndpoint.post("histogram", "/histogram", {
      payload: TimerHistogram,
      success: TimerHistogramAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.read", takesTurns: true },
        "Count timers by time",
        {
          filter: { namespace: "billing", from: "2030-01-01T00:00:00Z", until: "2030-01-02T00:00:00Z" },
          buckets: 24,
        },
        "The answer is exact if at most 100,000 timers are examined. Beyond that, pending timers by namespaces alone are estimated. With other filters, or if the setting TIMER_CENSUS is off, counting stops, and capped is true. With host, reason, error or minLateness it stops after 10,000 timers.",
      ),
    ),
    HttpApiEndpoint.post("lives", "/lives", {
      payload: makeListLives(limits),
      success: ListLivesAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.read", takesTurns: true },
        "List the lives of a timer",
        { namespace: "billing", timerId: "invoice-4711-reminder" },
        "Answers one page of all lives of the key that the store still has, latest first, in the form of get. The list is empty if the key was never used, or if its history is past its retention.",
      ),
    ),
    HttpApiEndpoint.post("activity", "/activity", {
      payload: GetActivity,
      success: ActivityAnswer,
      error: commonProblems,
    }).annotateMerge(
      describeCall(
        { action: "timers.read", checksNamespaces: true, takesTurns: true },
        "Count what happened",
        { from: "2030-01-01T00:00:00Z", until: "2030-01-02T00:00:00Z", step: "1h" },
        "Answers how many timers were created, delivered, retried, dead and cancelled in each step, and how late first attempts were. Each node counts in memory and stores a record every minute, so a crash loses at most a minute. Records are kept as long as the history (TIMER_HISTORY_RETENTION). by host needs a key for all namespaces.",
      ),
    ),
  ] as const
