/** The job that the reader has just started, above the list that it changes. */
import { Button } from "../../kit/Button.tsx"
import { Link } from "../../kit/Link.tsx"
import { hrefOf } from "../location.ts"
import "./bulk.css"
import { deeds } from "./bulkJob.ts"
import { FilterWords } from "./FilterWords.tsx"
import { JobProgress, JobState } from "./JobProgress.tsx"
import { useAbort, useBulkJob } from "./useBulkJob.ts"
import { useMayAct } from "./useMayAct.ts"

export interface JobPanelProps {
  readonly jobId: string
  /** The job has ended, and the reader wants to see the list as it is now. */
  readonly onClose: () => void
}

export const JobPanel = ({ jobId, onClose }: JobPanelProps) => {
  const { data, error } = useBulkJob(jobId)
  const abort = useAbort()
  const mayAct = useMayAct()
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
  const isRunning = job.state === "running"
  return (
    <section className="card job-panel" aria-label="Bulk job">
      <header className="job-panel-head">
        <JobState state={job.state} />
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
          {!isRunning && (
            <Button look="primary" onClick={onClose}>
              Show the list as it is now
            </Button>
          )}
        </span>
      </header>
      <JobProgress job={job} />
    </section>
  )
}
