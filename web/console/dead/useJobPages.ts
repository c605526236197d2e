/** The list of jobs. Rows stay where they are. What changes in them is shown, and new jobs are counted. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query"
import { useLiveInterval } from "../../kit/live.ts"
import { call } from "../../kit/serviceCall.ts"
import type { BulkPage } from "../bulk/bulkJob.ts"

export const jobsPerPage = 50
const followMs = 2_000

const page = (cursor: string, signal: AbortSignal): Promise<BulkPage> =>
  call<BulkPage>("bulk/list", { limit: jobsPerPage, ...(cursor === "" ? {} : { cursor }) }, signal)

export const useJobPages = () => {
  const queries = useQueryClient()
  const live = useLiveInterval(followMs)
  const list = useInfiniteQuery({
    queryKey: ["bulk-jobs", "list"],
    queryFn: ({ pageParam, signal }) => page(pageParam, signal),
    initialPageParam: "",
    getNextPageParam: ({ nextCursor }) => nextCursor ?? null,
    refetchOnMount: "always",
  })
  const head = useQuery({
    queryKey: ["bulk-jobs", "head"],
    queryFn: ({ signal }) => page("", signal),
    enabled: list.data !== undefined,
    refetchInterval: live,
  })
  const listed = list.data?.pages.flatMap(({ jobs }) => jobs) ?? []
  const fresh = new Map(head.data?.jobs.map((job) => [job.jobId, job]))
  const known = new Set(listed.map(({ jobId }) => jobId))
  return {
    list,
    jobs: listed.map((job) => fresh.get(job.jobId) ?? job),
    added: [...fresh.keys()].filter((jobId) => !known.has(jobId)).length,
    refresh: () => queries.invalidateQueries({ queryKey: ["bulk-jobs"] }),
  }
}
