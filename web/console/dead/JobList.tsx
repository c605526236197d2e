import { Button } from "../../kit/Button.tsx"
import { Crumbs } from "../../kit/Crumbs.tsx"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { type BulkJob, deeds } from "../bulk/bulkJob.ts"
import { FilterWords } from "../bulk/FilterWords.tsx"
import { JobProgress, JobState } from "../bulk/JobProgress.tsx"
import { useAbort } from "../bulk/useBulkJob.ts"
import { useMayAct } from "../bulk/useMayAct.ts"
import { hasReplayed, useFate } from "../bulk/useReplayed.ts"
import { FreshButton } from "../FreshButton.tsx"
import { hrefOf } from "../location.ts"
import { JobProblem } from "./JobProblem.tsx"
import { jobsPerPage, useJobPages } from "./useJobPages.ts"

/** All jobs that the reader may see, newest first. */
export const JobList = () => (
  <>
    <Crumbs above={[{ name: "Dead letters", href: hrefOf("dead-letters") }]} />
    <header className="page-head">
      <h1>Bulk jobs</h1>
    </header>
    <section className="card dead-card" aria-label="Bulk jobs">
      <Jobs />
    </section>
  </>
)

const Jobs = () => {
  const { list, jobs, added, refresh } = useJobPages()
  if (list.isPending) return <Loading />
  if (list.isError && jobs.length === 0) {
    return <JobProblem error={list.error} onRetry={() => void list.refetch()} />
  }
  return (
    <>
      <FreshButton added={added} most={jobsPerPage} noun="new job" onShow={() => void refresh()} />
      {jobs.length === 0 && !list.hasNextPage ? <NoJobs /> : <JobTable jobs={jobs} />}
      {list.hasNextPage && (
        <footer className="list-end muted">
          {list.isError && <span className="field-error">{list.error.message}</span>}
          <Button isSmall disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Load more
          </Button>
        </footer>
      )}
    </>
  )
}

const NoJobs = () => (
  <Screen kind="empty" title="There are no jobs">
    <p>
      A job replays, discards or cancels all timers that match a search. Start one on the page{" "}
      <Link href={hrefOf("dead-letters")}>Dead letters</Link> or <Link href={hrefOf("timers")}>Timers</Link>.
      Jobs are kept for 30 days after their end.
    </p>
  </Screen>
)

/** For so many jobs the list reads what became of their timers. For the others it is on their pages. */
const recentMax = 5

const JobTable = ({ jobs }: { readonly jobs: ReadonlyArray<BulkJob> }) => {
  const recent = jobs.filter(hasReplayed).slice(0, recentMax)
  return (
    <table className="table jobs">
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Job</th>
          <th scope="col">Progress and result</th>
          <th scope="col">Started and finished</th>
          <th scope="col">
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <JobRow key={job.jobId} job={job} isRecent={recent.includes(job)} />
        ))}
      </tbody>
    </table>
  )
}

interface JobRowProps {
  readonly job: BulkJob
  readonly isRecent: boolean
}

const JobRow = ({ job, isRecent }: JobRowProps) => {
  const { verb, noun } = deeds[job.do]
  const replayed = useFate(job, isRecent)
  return (
    <tr>
      <td className="job-state">
        <JobState job={job} replayed={replayed} />
      </td>
      <td className="job-what">
        <div className="job-words">
          <Link href={hrefOf("jobs", { id: job.jobId })} className="timer-link">
            {verb} {noun(2)}
          </Link>
          <FilterWords filter={job.filter} />
          <span className="job-reason muted">{job.reason}</span>
        </div>
      </td>
      <td className="job-bar">
        <JobProgress job={job} replayed={replayed} />
        {hasReplayed(job) && (
          <Link href={hrefOf("jobs", { id: job.jobId })} className="job-since">
            What became of them
          </Link>
        )}
      </td>
      <td className="job-when">
        <Moment at={job.startedAt} />
        <span className="muted"> by {job.startedBy.caller}</span>
        {job.finishedAt !== undefined && (
          <span className="muted job-end">
            finished <Moment at={job.finishedAt} />
          </span>
        )}
      </td>
      <td className="job-actions">
        <AbortButton job={job} />
      </td>
    </tr>
  )
}

/** Nothing if the job has ended, or if the reader may not stop it. */
export const AbortButton = ({ job }: { readonly job: BulkJob }) => {
  const abort = useAbort()
  const mayAct = useMayAct()
  if (job.state !== "running" || !mayAct(job.do, job.filter)) return null
  return (
    <Button disabled={abort.isPending} onClick={() => abort.mutate(job.jobId)}>
      Abort
    </Button>
  )
}
