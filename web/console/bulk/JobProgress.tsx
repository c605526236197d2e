/** How far a job is, what it has done, and what became of the timers that it replayed. */
import { Badge } from "../../kit/Badge.tsx"
import { Progress, type ProgressProps } from "../../kit/Progress.tsx"
import { type BulkJob, deeds, handledBy, numberText, resultText } from "./bulkJob.ts"
import { fateText, hasReplayed, type ReplayedTimers } from "./useReplayed.ts"

export interface JobOutcomeProps {
  readonly job: BulkJob
  /** Undefined until it is known, and for jobs that replay nothing. */
  readonly replayed: ReplayedTimers | undefined
}

const tones = { running: "accent", done: "good", aborted: "neutral", failed: "bad" } as const

/** A replay is good only if the timers are: a job that is done may have armed timers that died again. */
const toneOf = ({ job, replayed }: JobOutcomeProps): NonNullable<ProgressProps["tone"]> => {
  if (job.state !== "done" || !hasReplayed(job)) return tones[job.state]
  if (replayed === undefined) return "neutral"
  const { counts, isCut } = replayed
  if (counts.dead > 0) return "warning"
  return isCut || counts.pending + counts.cancelled > 0 ? "neutral" : "good"
}

export const JobState = (outcome: JobOutcomeProps) => (
  <Badge tone={toneOf(outcome)}>{outcome.job.state}</Badge>
)

/** `1,200 of 12,431`. A capped count is a lower bound, and a job may meet fewer timers than were counted. */
const progressText = (job: BulkJob): string =>
  `${numberText(handledBy(job))} of ${numberText(job.expect)}${job.capped ? "+" : ""}`

export const JobProgress = (outcome: JobOutcomeProps) => {
  const { job, replayed } = outcome
  const handled = handledBy(job)
  const max = Math.max(job.expect, handled)
  const skipped = job.done.skipped ?? 0
  const result =
    replayed === undefined || job.state === "running"
      ? resultText(job)
      : `${fateText(job, replayed)}${skipped > 0 ? `; ${numberText(skipped)} skipped` : ""}`
  return (
    <div className="job-progress">
      <Progress
        label={`Progress: ${deeds[job.do].verb.toLowerCase()}`}
        value={job.state === "done" ? max : handled}
        max={max}
        tone={toneOf(outcome)}
      />
      <span className="figures">
        {job.state === "done" ? result : progressText(job)}
        {job.state !== "done" && handled > 0 && <span className="muted"> ({result})</span>}
      </span>
      {job.problem !== undefined && (
        <span className={job.state === "running" ? "job-waits" : "field-error"}>{job.problem}</span>
      )}
    </div>
  )
}
