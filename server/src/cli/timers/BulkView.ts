// Jobs on many timers as text for people: a table for many, a page for one. Programs get the JSON of the service instead.
import type { BulkJob } from "@punctual/api/BulkJobs"
import { formatDuration } from "@punctual/api/DurationMs"
import { formatInstant } from "@punctual/api/Instant"
import { countsText } from "../client/Batches.ts"
import { countShown } from "../frame/figures.ts"
import { textTable } from "../frame/textTable.ts"
import { factLines } from "./TimerView.ts"

export const jobTable = (jobs: ReadonlyArray<BulkJob>): string =>
  textTable([
    ["JOB", "DO", "STATE", "STARTED AT", "BY", "NAMESPACES", "DONE", "EXPECTED"],
    ...jobs.map((job) => [
      job.jobId,
      job.do,
      job.state,
      formatInstant(job.startedAt),
      starterText(job),
      namespacesText(job),
      doneText(job),
      expectedText(job),
    ]),
  ])

/** `replayed`: what became of the timers that the job replayed. */
export const jobPage = (job: BulkJob, replayed?: string): string => {
  const { namespace: _, namespaces: __, ...filter } = job.filter
  return factLines([
    ["job", job.jobId],
    ["do", job.do],
    ["state", job.state],
    ["problem", job.problem],
    ["reason", job.reason],
    ["namespaces", namespacesText(job)],
    ["filter", Object.keys(filter).length === 0 ? undefined : filterText(filter)],
    ["started by", starterText(job)],
    ["started at", formatInstant(job.startedAt)],
    ["finished at", job.finishedAt === undefined ? undefined : formatInstant(job.finishedAt)],
    ["done", doneText(job)],
    ["since then", replayed],
    ["expected", expectedText(job)],
    ["examined", countShown(job.examined)],
    ["per second", countShown(job.perSecond)],
  ])
}

/** `3 replayed, 1 skipped` */
export const doneText = ({ done }: BulkJob): string => countsText(Object.fromEntries(Object.entries(done)))

const expectedText = ({ expect, capped }: BulkJob): string =>
  `${capped === true ? "at least " : ""}${countShown(expect)}`

const starterText = ({ startedBy: { caller, keyId } }: BulkJob): string =>
  keyId === undefined ? caller : `${caller} (${keyId})`

const namespacesText = ({ filter: { namespace, namespaces = [] } }: BulkJob): string =>
  namespace ?? namespaces.join(",")

const filterText = (filter: Omit<BulkJob["filter"], "namespace" | "namespaces">): string =>
  Object.entries(filter)
    .map(([name, value]) => `${name} ${valueText(name, value)}`)
    .join(", ")

const valueText = (name: string, value: string | number): string => {
  if (typeof value === "string") return value
  return name === "minLateness" ? formatDuration(value) : formatInstant(value)
}
