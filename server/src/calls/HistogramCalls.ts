// The call that counts timers by time.
import type { TimerHistogram, TimerHistogramAnswer } from "@punctual/api/TimerHistogram"
import { Effect } from "effect"
import { filterOf, scopeOf } from "../engine/front/filterOf.ts"
import { Scheduler } from "../engine/front/Scheduler.ts"
import type { Call } from "./Call.ts"
import { refuseRead } from "./problemOf.ts"

export interface HistogramCalls {
  readonly histogram: Call<TimerHistogram, TimerHistogramAnswer>
}

export const makeHistogramCalls: Effect.Effect<HistogramCalls, never, Scheduler> = Effect.map(
  Scheduler,
  (scheduler) => ({
    histogram: ({ body: { filter, buckets }, receivedAt }) => {
      const { from, until } = filter
      const asked = {
        ...scopeOf(filter),
        ...filterOf(filter, receivedAt),
        inclusiveFromMs: from,
        exclusiveUntilMs: until,
        buckets,
      }
      return Effect.matchEffect(scheduler.histogram(asked), {
        onFailure: refuseRead,
        onSuccess: ({ counts, isEstimated, asOfMs, isCapped, ...histogram }) =>
          Effect.succeed({
            from,
            until,
            counts,
            total: counts.reduce((sum, count) => sum + count, 0),
            estimated: isEstimated,
            asOf: asOfMs,
            ...(isCapped ? { capped: true } : {}),
            ...(histogram.countedUntilMs === undefined ? {} : { countedUntil: histogram.countedUntilMs }),
            ...(histogram.examined === undefined ? {} : { examined: histogram.examined }),
            ...(histogram.missing === undefined ? {} : { missing: histogram.missing }),
          }),
      })
    },
  }),
)
