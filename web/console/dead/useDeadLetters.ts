/** The dead letters that match a search, up to a limit: groups need all of them at once, so they are all read. */
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useMemo, useState } from "react"
import type { Timer } from "../api.ts"
import type { SearchRequest } from "../timers/search.ts"
import { rowKey, useTimerPages } from "../timers/useTimerPages.ts"

export const deadMax = 2_000

const limits = { rowsPerPage: 250, rowsMax: deadMax }

/** Filters without an index may need many pages for few rows. After so many, the reader decides whether to go on. */
const pagesAtOnce = 20

export const useDeadLetters = (request: SearchRequest) => {
  const queries = useQueryClient()
  const pages = useTimerPages(request, true, limits)
  const { list } = pages
  const [pagesAllowed, setPagesAllowed] = useState(pagesAtOnce)
  const [handled, setHandled] = useState<ReadonlySet<string>>(new Set())
  const read = list.data?.pages.length ?? 0
  const goesOn = list.hasNextPage && !list.isError && read < pagesAllowed
  useEffect(() => {
    if (goesOn && !list.isFetching) void list.fetchNextPage()
  }, [goesOn, list.isFetching, list.fetchNextPage])
  const timers = useMemo(
    () => pages.timers.filter((timer) => !handled.has(rowKey(timer))),
    [pages.timers, handled],
  )
  return {
    ...pages,
    timers,
    /** Still reading, so groups are not complete. */
    isReading: list.isPending || goesOn,
    readOn: () => setPagesAllowed(read + pagesAtOnce),
    /** These are no longer dead letters. They leave the list at once. A timer that dies again is another row. */
    leave: (gone: ReadonlyArray<Timer>) => {
      setHandled((before) => new Set([...before, ...gone.map(rowKey)]))
      void queries.invalidateQueries({ queryKey: ["count"] })
    },
    refresh: async () => {
      void queries.invalidateQueries({ queryKey: ["count"] })
      await pages.refresh()
    },
  }
}
