/** The pages of a list of timers, as far as the reader has scrolled. Rows never wait for counts. */
import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query"
import { useEffect, useMemo, useState } from "react"
import { covers } from "../../kit/self.ts"
import { call } from "../../kit/serviceCall.ts"
import { useEventInterval, useWhenEvents } from "../../kit/useEvents.ts"
import type { Timer, TimerPage } from "../api.ts"
import { headEveryMs, headEveryMsAfter } from "./headEveryMs.ts"
import type { SearchRequest } from "./search.ts"

const rowsPerPage = 100
/** A busy service makes every open page ask for the head again and again, so it is shorter than a page. */
export const headRows = 50

/** More rows would only cost memory. The reader should narrow the search. */
export const rowsMax = 20_000

/** A life of a key. Two lives of one key may be in the same list. */
export const rowKey = ({ namespace, fireId, timerId }: Timer): string => `${namespace}\0${timerId}\0${fireId}`

export interface TimerPagesLimits {
  readonly rowsPerPage: number
  readonly rowsMax: number
}

export const useTimerPages = (
  request: SearchRequest,
  isEnabled: boolean,
  limits: TimerPagesLimits = { rowsPerPage, rowsMax },
) => {
  const queries = useQueryClient()
  const key = ["timers", request]
  const list = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      call<TimerPage>(
        "timers/list",
        { ...request, limit: limits.rowsPerPage, ...(pageParam === "" ? {} : { cursor: pageParam }) },
        signal,
      ),
    initialPageParam: "",
    getNextPageParam: (last, all) => (rowsIn(all) < limits.rowsMax ? (last.nextCursor ?? null) : null),
    enabled: isEnabled,
    // Another search shows the old rows until its own have come.
    placeholderData: keepPreviousData,
    // Rows must not move while the reader looks at them. New ones are counted by `head`.
    staleTime: Number.POSITIVE_INFINITY,
  })
  const live = useEventInterval()
  const [everyMs, setEveryMs] = useState<number>(headEveryMs.least)
  const head = useQuery({
    queryKey: ["timers-head", request],
    queryFn: async ({ signal }) => {
      const beganMs = performance.now()
      const page = await call<TimerPage>("timers/list", { ...request, limit: headRows }, signal)
      setEveryMs(headEveryMsAfter(performance.now() - beganMs))
      return page
    },
    enabled: isEnabled && list.data !== undefined && live !== false,
    refetchInterval: live,
  })
  // A page of rows shows at most this often what has changed.
  useWhenEvents(
    ({ events, hasMore }) =>
      hasMore ||
      events.some((event) => request.namespaces.some((rule) => covers(rule, `${event["namespace"]}`))),
    () => void (isEnabled && head.refetch()),
    everyMs,
  )
  const timers = useMemo(() => list.data?.pages.flatMap((page) => page.timers) ?? [], [list.data])
  const examined = list.data?.pages.reduce((sum, page) => sum + (page.examined ?? 0), 0) ?? 0
  const fresh = useFreshRows(timers, head.data?.timers)
  // In an empty list nothing can move.
  const isFilling = list.isSuccess && !list.isPlaceholderData && timers.length === 0 && fresh.added > 0
  const { refetch } = list
  useEffect(() => {
    if (isFilling) void refetch()
  }, [isFilling, refetch])
  return {
    timers,
    list,
    examined,
    /** Whether there may be rows that are not in the list, because the reader has not asked for them or because of the limit. */
    isCut: list.data?.pages.at(-1)?.nextCursor !== undefined,
    fresh,
    /** Shows the list as it is now. */
    refresh: () => queries.resetQueries({ queryKey: key }),
  }
}

const rowsIn = (pages: ReadonlyArray<TimerPage>): number =>
  pages.reduce((sum, { timers }) => sum + timers.length, 0)

interface FreshRows {
  /** How many rows of the first page are not in the list yet. */
  readonly added: number
  /** Newer versions of rows that are in the list. */
  readonly changed: ReadonlyMap<string, Timer>
  /** Whether this row would no longer be in the list, because the timer fired, moved or was cancelled. */
  readonly isGone: (timer: Timer) => boolean
}

const useFreshRows = (timers: ReadonlyArray<Timer>, head: ReadonlyArray<Timer> | undefined): FreshRows =>
  useMemo(() => {
    if (head === undefined)
      return { added: 0, changed: new Map<string, Timer>(), isGone: (_timer: Timer) => false }
    const shown = new Set(timers.map(rowKey))
    const changed = new Map(head.map((timer) => [rowKey(timer), timer]))
    // The head covers the list up to its own last row. What it should cover and does not have is gone.
    const last = head.length < headRows ? undefined : head.at(-1)
    const lastAt = last === undefined ? -1 : timers.findIndex((timer) => rowKey(timer) === rowKey(last))
    const covered = new Set(timers.slice(0, last === undefined ? timers.length : lastAt + 1).map(rowKey))
    return {
      added: head.filter((timer) => !shown.has(rowKey(timer))).length,
      changed,
      isGone: (timer: Timer) => covered.has(rowKey(timer)) && !changed.has(rowKey(timer)),
    }
  }, [timers, head])
