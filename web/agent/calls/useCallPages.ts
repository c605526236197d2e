/**
 * The pages of the list, as far as the reader has scrolled. Rows do not move while the reader looks at them: changes of
 * calls in the list are shown in place, and new calls wait behind a button.
 */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useMemo } from "react"
import { useEventInterval, useWhenEvents } from "../../kit/useEvents.ts"
import { type Call, type CallPage, listCalls } from "../agentApi.ts"
import { newer, useCallChanges } from "../callEvents.ts"
import { type CallSearch, listQuery } from "./callSearch.ts"

const rowsPerPage = 100
const headEveryMs = 500

/** More rows would only cost memory. The reader should narrow the filter. */
export const rowsMax = 20_000

export const useCallPages = (tenant: string, search: CallSearch) => {
  const queries = useQueryClient()
  const query = listQuery(search)
  const key = ["calls", tenant, query]
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      listCalls(
        tenant,
        { ...query, limit: String(rowsPerPage), ...(pageParam === "" ? {} : { cursor: pageParam }) },
        signal,
      ),
    initialPageParam: "",
    getNextPageParam: (last, all) => (rowsIn(all) < rowsMax ? (last.nextCursor ?? null) : null),
    // Another filter shows the old rows until its own have come.
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const live = useEventInterval()
  // The newest first page: how many calls are new, and how many there are of each status.
  const head = useQuery({
    queryKey: ["calls-head", tenant, query],
    queryFn: ({ signal }) => listCalls(tenant, { ...query, limit: String(rowsPerPage) }, signal),
    enabled: list.data !== undefined && live !== false,
    refetchInterval: live,
  })
  useEffect(() => {
    // The reader pauses. An answer that is on its way must not change the page any more.
    if (live === false) void queries.cancelQueries({ queryKey: ["calls-head"] })
  }, [live, queries])
  useWhenEvents(
    ({ events, hasMore }) => hasMore || events.length > 0,
    () => void head.refetch(),
    headEveryMs,
  )
  const told = useCallChanges(tenant)
  const listed = useMemo(() => list.data?.pages.flatMap((page) => page.calls) ?? [], [list.data])
  const calls = useMemo(() => {
    const inHead = new Map(head.data?.calls.map((call) => [call.serviceCallId, call]))
    return listed.map((call) =>
      newer(newer(call, inHead.get(call.serviceCallId)), told.get(call.serviceCallId)),
    )
  }, [listed, head.data, told])
  const added = useMemo(() => {
    const shown = new Set(listed.map(({ serviceCallId }) => serviceCallId))
    return head.data?.calls.filter(({ serviceCallId }) => !shown.has(serviceCallId)).length ?? 0
  }, [listed, head.data])
  // In an empty list nothing can move.
  const isFilling = list.isSuccess && !list.isPlaceholderData && listed.length === 0 && added > 0
  const { refetch } = list
  useEffect(() => {
    if (isFilling) void refetch()
  }, [isFilling, refetch])
  return {
    calls,
    list,
    added,
    counts: list.isPlaceholderData ? undefined : (head.data?.counts ?? list.data?.pages[0]?.counts),
    /** Whether this call no longer matches the status of the filter. */
    isGone: ({ status }: Call) => search.status.length > 0 && !search.status.includes(status),
    /** Shows the list as it is now. */
    refresh: () => queries.resetQueries({ queryKey: key }),
  }
}

const rowsIn = (pages: ReadonlyArray<CallPage>): number =>
  pages.reduce((sum, { calls }) => sum + calls.length, 0)
