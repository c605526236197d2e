/** One page of the list of namespaces, with their counts. All pages share the answer. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useLiveInterval } from "../../kit/live.ts"
import { namespacePage } from "../namespacePage.ts"

const rowsPerPage = 50

/** Each row costs the service two counts, so the list is read less often than others. */
const readEveryMs = 30_000

export const useNamespaceList = (prefix: string, cursor: string | undefined, isWanted = true) =>
  useQuery({
    queryKey: ["namespaces", prefix, cursor],
    queryFn: ({ signal }) => namespacePage({ prefix, cursor, limit: rowsPerPage }, signal),
    enabled: isWanted,
    refetchInterval: useLiveInterval(readEveryMs),
    placeholderData: keepPreviousData,
  })
