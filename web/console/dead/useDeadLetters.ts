/** The dead letters that match a search, up to a limit: groups need all of them at once, so they are all read. */
import { useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
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
  const [handled, setHandled] = useState<ReadonlyMap<string, string>>(new Map())
  const read = list.data?.pages.length ?? 0
  const goesOn = list.hasNextPage && !list.isError && read < pagesAllowed
  useEffect(() => {
    if (goesOn && !list.isFetching) void list.fetchNextPage()
  }, [goesOn, list.isFetching, list.fetchNextPage])
  return {
    ...pages,
    /** Still reading, so groups are not complete. */
    isReading: list.isPending || goesOn,
    readOn: () => setPagesAllowed(read + pagesAtOnce),
    /**
     * What the reader did with these, in a word. They are no longer dead letters, but their rows stay until the list is
     * read again, so that no other row moves under the pointer. A timer that dies again is another row.
     */
    markHandled: (done: ReadonlyMap<Timer, string>) => {
      setHandled(
        (before) => new Map([...before, ...[...done].map(([timer, word]) => [rowKey(timer), word] as const)]),
      )
      void queries.invalidateQueries({ queryKey: ["count"] })
    },
    handledCount: handled.size,
    isHandled: (timer: Timer): boolean => handled.has(rowKey(timer)),
    /** What the row is now, if it is no longer a dead letter. */
    newStateOf: (timer: Timer): string | undefined =>
      handled.get(rowKey(timer)) ?? (pages.fresh.isGone(timer) ? "no longer here" : undefined),
    refresh: async () => {
      setHandled(new Map())
      void queries.invalidateQueries({ queryKey: ["count"] })
      await pages.refresh()
    },
  }
}
