/** What a job would change: how many timers match, and the first of them. It stands still while the dialog is open. */
import { useQuery } from "@tanstack/react-query"
import { call } from "../../kit/serviceCall.ts"
import type { TimerPage } from "../api.ts"
import type { CountAnswer } from "../timers/useTimerCount.ts"
import { type BulkDeed, deeds } from "./bulkJob.ts"

export const previewRows = 20

export const usePreview = (deed: BulkDeed, filter: object) => {
  const { state } = deeds[deed]
  const options = { staleTime: Number.POSITIVE_INFINITY, gcTime: 0 }
  const count = useQuery({
    queryKey: ["bulk-count", state, filter],
    queryFn: ({ signal }) => call<CountAnswer>("timers/count", { ...filter, state }, signal),
    ...options,
  })
  const first = useQuery({
    queryKey: ["bulk-first", state, filter],
    queryFn: ({ signal }) => call<TimerPage>("timers/list", { ...filter, state, limit: previewRows }, signal),
    ...options,
  })
  return {
    count,
    first,
    again: async () => {
      await Promise.all([count.refetch(), first.refetch()])
    },
  }
}
