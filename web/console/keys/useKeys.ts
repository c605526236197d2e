/** The keys of the service, the newest first. */

import type { ListKeysAnswer } from "@punctual/api/Keys"
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query"
import { useLiveInterval } from "../../kit/live.ts"
import { call } from "../../kit/serviceCall.ts"

type KeyPage = typeof ListKeysAnswer.Encoded
export type ApiKey = KeyPage["keys"][number]

const everyMs = 15_000

export const useKeys = (isEnabled: boolean) =>
  useInfiniteQuery({
    queryKey: ["keys"],
    queryFn: ({ pageParam, signal }) =>
      call<KeyPage>("keys/list", pageParam === "" ? {} : { cursor: pageParam }, signal),
    initialPageParam: "",
    getNextPageParam: (last) => last.nextCursor ?? null,
    enabled: isEnabled,
    refetchInterval: useLiveInterval(everyMs),
  })

/** Reads the keys again, and who the reader is: the reader's own key may have changed. */
export const useKeyRefresh = (): (() => void) => {
  const queries = useQueryClient()
  return () => {
    void queries.invalidateQueries({ queryKey: ["keys"] })
    void queries.invalidateQueries({ queryKey: ["self"] })
  }
}
