/** One job: what it was asked, by whom and why, and what it has done. */

import { CopyButton } from "../../kit/CopyButton.tsx"
import { Crumbs } from "../../kit/Crumbs.tsx"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { Loading } from "../../kit/Screen.tsx"
import { durationText } from "../../kit/times.ts"
import { type BulkJob, deeds, handledBy, listOf, numberText, resultText } from "../bulk/bulkJob.ts"
import { FilterWords } from "../bulk/FilterWords.tsx"
import { JobProgress, JobState } from "../bulk/JobProgress.tsx"
import { useBulkJob } from "../bulk/useBulkJob.ts"
import { useFate } from "../bulk/useReplayed.ts"
import { hrefOf } from "../location.ts"
import { AbortButton } from "./JobList.tsx"
import { JobProblem } from "./JobProblem.tsx"
import { Replayed } from "./Replayed.tsx"

export const JobDetails = ({ jobId }: { readonly jobId: string }) => {
  const { data, error, refetch } = useBulkJob(jobId)
  const job = data?.job
  return (
    <>
      <Crumbs
        above={[
          { name: "Dead letters", href: hrefOf("dead-letters") },
          { name: "Bulk jobs", href: hrefOf("jobs") },
        ]}
      />
      <header className="page-head">
        <h1>{job === undefined ? "Bulk job" : `${deeds[job.do].verb} ${deeds[job.do].noun(2)}`}</h1>
        {job !== undefined && <AbortButton job={job} />}
      </header>
      <section className="card" aria-label="Bulk job">
        {job !== undefined ? (
          <JobFacts job={job} />
        ) : error === null ? (
          <Loading />
        ) : (
          <JobProblem error={error} onRetry={() => void refetch()} />
        )}
      </section>
      {job !== undefined && <Replayed job={job} />}
    </>
  )
}

const JobFacts = ({ job }: { readonly job: BulkJob }) => {
  const list = listOf(job)
  const replayed = useFate(job)
  return (
    <div className="card-body job-facts">
      <div className="job-facts-progress">
        <JobState job={job} replayed={replayed} />
        <JobProgress job={job} replayed={replayed} />
      </div>
      <dl className="facts">
        <dt>Filter</dt>
        <dd>
          <FilterWords filter={job.filter} />{" "}
          <Link className="job-matches" href={hrefOf(list.page, list.parameters)}>
            Show what matches now
          </Link>
        </dd>
        <dt>Reason</dt>
        <dd>{job.reason}</dd>
        <dt>Started</dt>
        <dd>
          <Moment at={job.startedAt} show="both" /> by {job.startedBy.caller}
        </dd>
        <dt>Finished</dt>
        <dd>
          {job.finishedAt === undefined ? (
            "not yet"
          ) : (
            <>
              <Moment at={job.finishedAt} show="both" />, after{" "}
              {durationText(Math.max(0, Date.parse(job.finishedAt) - Date.parse(job.startedAt)))}
            </>
          )}
        </dd>
        <dt>Result</dt>
        <dd className="figures">
          {resultText(job)}. {numberText(job.examined)} examined.
          {handledBy(job) > 0 && job.do === "replay" && (job.done.skipped ?? 0) > 0 && (
            <span className="muted"> A dead letter is skipped if a timer with its id is pending.</span>
          )}
        </dd>
        <dt>Expected</dt>
        <dd className="figures">
          {job.capped ? "at least " : ""}
          {numberText(job.expect)}
        </dd>
        <dt>Pace</dt>
        <dd className="figures">at most {numberText(job.perSecond)} a second</dd>
        <dt>Job id</dt>
        <dd>
          <code>{job.jobId}</code> <CopyButton text={job.jobId} what="the job id" />
        </dd>
      </dl>
    </div>
  )
}
