/** `/timers/activity`: how much happened, and how late attempts were, as series over time. */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { DurationMs, durationBetween } from "./DurationMs.ts"
import { described } from "./described.ts"
import { Instant, isInstant } from "./Instant.ts"
import { ActivityNamespaces } from "./NamespaceChoices.ts"

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** The most points of a series. */
export const activityPointsMax = 1_500
/** The most points of each series by namespace or host. */
export const activityPointsByMax = 300

/** The record that a question reads: of minutes, or of hours if the step allows it. */
export const activityUnitMs = (stepMs: number): number => (stepMs % hourMs === 0 ? hourMs : minuteMs)

/** The span of a question, in whole steps. */
export const activitySpan = ({
  from,
  until,
  step,
}: {
  readonly from: number
  readonly until: number
  readonly step: number
}): { readonly fromMs: number; readonly untilMs: number } => ({
  fromMs: Math.floor(from / step) * step,
  untilMs: Math.ceil(until / step) * step,
})

const Step = durationBetween(minuteMs, 31 * dayMs)

const isSound = Schema.makeFilter(
  ({ from, until, step, by }: { from: number; until: number; step: number; by?: string }) => {
    if (until <= from) return { path: ["until"], issue: "must be later than from" }
    if (step % minuteMs !== 0) return { path: ["step"], issue: "must be whole minutes" }
    if (by !== undefined && step < 5 * minuteMs) {
      return { path: ["step"], issue: 'must be at least 5m together with "by"' }
    }
    const { fromMs, untilMs } = activitySpan({ from, until, step })
    if (!isInstant(fromMs))
      return { path: ["from"], issue: "must be in the year 0000 or later, in whole steps" }
    if (!isInstant(untilMs)) {
      return { path: ["until"], issue: "must be in the year 9999 or earlier, in whole steps" }
    }
    const unit = activityUnitMs(step)
    if ((until - from) / unit > activityPointsMax) {
      return {
        path: ["until"],
        issue:
          unit === hourMs
            ? `must be at most ${activityPointsMax} hours after from`
            : `must be at most ${activityPointsMax} minutes after from, or step must be whole hours`,
      }
    }
    return by !== undefined && (until - from) / step > activityPointsByMax
      ? { path: ["step"], issue: `must give at most ${activityPointsByMax} points together with "by"` }
      : undefined
  },
)

export const GetActivity = Schema.Struct({
  namespaces: Schema.optionalKey(ActivityNamespaces),
  from: Instant.pipe(described("The beginning. It is rounded down to a whole step.")),
  until: Instant.pipe(described("The end, exclusive. It is rounded up to a whole step.")),
  step: Step.pipe(
    described(
      `The length of a point: whole minutes, such as 1m or 15m, for up to ${activityPointsMax} minutes, or whole hours, such as 1h or 1d, for up to ${activityPointsMax} hours.`,
    ),
  ),
  by: Schema.optionalKey(
    Schema.Literals(["namespace", "host"]).annotate({
      message: "must be namespace or host",
      description: `Also answer the lateness of the busiest namespaces or hosts. The step must be at least 5m, with at most ${activityPointsByMax} points.`,
    }),
  ),
})
  .annotate({ message: "must be a JSON object", description: "Which series to answer." })
  .check(isSound)
  .annotate({ identifier: "GetActivity" })

export type GetActivity = typeof GetActivity.Type

const Lateness = Schema.Array(Count).annotate({
  description: "How many first attempts were this late: one number for each bucket.",
})

const ActivityPoint = Schema.Struct({
  at: Instant.pipe(described("The beginning of the point.")),
  created: Count,
  delivered: Count,
  retried: Count,
  dead: Count,
  cancelled: Count,
  lateness: Schema.optionalKey(Lateness),
}).annotate({ identifier: "ActivityPoint", description: "What happened in one step." })

export const ActivityAnswer = Schema.Struct({
  from: Instant,
  until: Instant,
  step: DurationMs,
  latenessUpToMs: Schema.Array(Count).annotate({
    description:
      "The upper bounds of the buckets of lateness, in milliseconds. One more bucket has the rest.",
  }),
  points: Schema.Array(ActivityPoint).annotate({
    description:
      "Points without any activity are left out. They have lateness if the question is about all namespaces.",
  }),
  series: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        name: Schema.String,
        points: Schema.Array(Schema.Struct({ at: Instant, lateness: Lateness })),
      }),
    ).annotate({
      description: "With by: the lateness of the busiest namespaces or hosts, busiest first, at most 50.",
    }),
  ),
  partial: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description:
        "Present if some of this time had so many namespaces that the rest was counted together. That rest is not in the answer, unless the question is about all namespaces.",
    }),
  ),
  missing: Schema.Array(Schema.String).annotate({
    description: "Nodes that did not answer. Their last minutes are missing.",
  }),
}).annotate({ identifier: "ActivityAnswer", description: "Series over time." })

export type ActivityAnswer = typeof ActivityAnswer.Type
