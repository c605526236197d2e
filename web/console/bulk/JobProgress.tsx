/** How far a job is, and what it has done. */
import { Badge, type Tone } from "../../kit/Badge.tsx"
import { Progress } from "../../kit/Progress.tsx"
import { type BulkJob, deeds, handledBy, numberText, resultText } from "./bulkJob.ts"

const tones: Readonly<Record<BulkJob["state"], Tone>> = {
  running: "accent",
  done: "good",
  aborted: "neutral",
  failed: "bad",
}

export const JobState = ({ state }: Pick<BulkJob, "state">) => <Badge tone={tones[state]}>{state}</Badge>

const barTones = { running: "accent", done: "good", aborted: "neutral", failed: "bad" } as const

/** `1,200 of 12,431`. A capped count is a lower bound, and a job may meet fewer timers than were counted. */
export const progressText = (job: BulkJob): string =>
  job.state === "done"
    ? resultText(job)
    : `${numberText(handledBy(job))} of ${numberText(job.expect)}${job.capped ? "+" : ""}`

export const JobProgress = ({ job }: { readonly job: BulkJob }) => {
  const handled = handledBy(job)
  const max = Math.max(job.expect, handled)
  return (
    <div className="job-progress">
      <Progress
        label={`Progress: ${deeds[job.do].verb.toLowerCase()}`}
        value={job.state === "done" ? max : handled}
        max={max}
        tone={barTones[job.state]}
      />
      <span className="figures">
        {progressText(job)}
        {job.state !== "done" && handled > 0 && <span className="muted"> ({resultText(job)})</span>}
      </span>
      {job.problem !== undefined && (
        <span className={job.state === "running" ? "job-waits" : "field-error"}>{job.problem}</span>
      )}
    </div>
  )
}
