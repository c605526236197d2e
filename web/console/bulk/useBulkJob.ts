/** One job, followed while it runs, and the way to stop it. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useLiveInterval } from "../../kit/live.ts"
import { call } from "../../kit/serviceCall.ts"
import { toast } from "../../kit/toasts.tsx"
import type { BulkJob } from "./bulkJob.ts"

interface OneJob {
  readonly job: BulkJob
}

const followMs = 1_000

const keyOf = (jobId: string) => ["bulk-job", jobId]

export const useBulkJob = (jobId: string) => {
  const live = useLiveInterval(followMs)
  return useQuery({
    queryKey: keyOf(jobId),
    queryFn: ({ signal }) => call<OneJob>("bulk/get", { jobId }, signal),
    refetchInterval: ({ state: { data } }) => (data?.job.state === "running" ? live : false),
  })
}

/** A job that was just started is known to run, so the page sees when it ends. */
export const useKnownJob = (): ((job: BulkJob) => void) => {
  const queries = useQueryClient()
  return (job) => queries.setQueryData<OneJob>(keyOf(job.jobId), { job })
}

export const useAbort = () => {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (jobId: string) => call<OneJob>("bulk/abort", { jobId }),
    onSuccess: (answer) => {
      queries.setQueryData(keyOf(answer.job.jobId), answer)
      void queries.invalidateQueries({ queryKey: ["bulk-jobs", "head"] })
      toast(
        answer.job.state === "aborted"
          ? "The job is aborted. What it has done stays done."
          : `The job had already ended: ${answer.job.state}.`,
      )
    },
    onError: ({ message }) => toast(message, true),
  })
}
