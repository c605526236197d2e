/** The job that the reader has just started, above the list that it changes. */
import { useEffect, useRef } from "react"
import { Button } from "../../kit/Button.tsx"
import { Link } from "../../kit/Link.tsx"
import { hrefOf } from "../location.ts"
import "./bulk.css"
import { type BulkJob, deeds } from "./bulkJob.ts"
import { FilterWords } from "./FilterWords.tsx"
import { JobProgress, JobState } from "./JobProgress.tsx"
import { useAbort, useBulkJob } from "./useBulkJob.ts"
import { useMayAct } from "./useMayAct.ts"
import { useFate } from "./useReplayed.ts"

export interface JobPanelProps {
  readonly jobId: string
  /** The job has just ended, so the list below is old. */
  readonly onEnd: () => void
  readonly onClose: () => void
}

export const JobPanel = ({ jobId, onEnd, onClose }: JobPanelProps) => {
  const { data, error } = useBulkJob(jobId)
  useWhenEnded(data?.job.state, onEnd)
  const job = data?.job
  if (job === undefined) {
    return error === null ? null : (
      <p className="banner banner-bad" role="alert">
        <span>The job cannot be shown: {error.message}</span>
        <Button isSmall onClick={onClose}>
          Close
        </Button>
      </p>
    )
  }
  return <JobShown job={job} onClose={onClose} />
}

/** Calls `act` once, when a job that was seen running has ended. */
const useWhenEnded = (state: BulkJob["state"] | undefined, act: () => void): void => {
  const wasRunning = useRef(false)
  const current = useRef(act)
  current.current = act
  useEffect(() => {
    if (wasRunning.current && state !== undefined && state !== "running") current.current()
    wasRunning.current = state === "running"
  }, [state])
}

const JobShown = ({ job, onClose }: { readonly job: BulkJob; readonly onClose: () => void }) => {
  const abort = useAbort()
  const mayAct = useMayAct()
  const replayed = useFate(job)
  const isRunning = job.state === "running"
  return (
    <section className="card job-panel" aria-label="Bulk job">
      <header className="job-panel-head">
        <JobState job={job} replayed={replayed} />
        <h2>
          {deeds[job.do].verb} {deeds[job.do].noun(2)}
        </h2>
        <FilterWords filter={job.filter} />
        <span className="job-panel-actions">
          <Link href={hrefOf("jobs", { id: job.jobId })}>Details</Link>
          {isRunning && mayAct(job.do, job.filter) && (
            <Button disabled={abort.isPending} onClick={() => abort.mutate(job.jobId)}>
              Abort
            </Button>
          )}
          {!isRunning && <Button onClick={onClose}>Close</Button>}
        </span>
      </header>
      <JobProgress job={job} replayed={replayed} />
    </section>
  )
}
