/** One call with its request, its answer and its timeline. It is loaded again when the call changes. */
import { useQuery } from "@tanstack/react-query"
import { useEventInterval, useWhenEvents } from "../../kit/useEvents.ts"
import { getCall } from "../agentApi.ts"
import { callsIn } from "../callEvents.ts"
import { isFinished } from "../callTexts.ts"

const withoutStreamMs = 1_000
const finishedMs = 10_000
const soonestMs = 50

export const useCall = (tenant: string, id: string | undefined) => {
  const live = useEventInterval(withoutStreamMs)
  const query = useQuery({
    queryKey: ["call", tenant, id],
    queryFn: ({ signal }) => getCall(tenant, id ?? "", signal),
    enabled: id !== undefined && id !== "",
    // Of a finished call only name, tags and star can change.
    refetchInterval: ({ state }) =>
      live !== false && state.data !== undefined && isFinished(state.data.call)
        ? Math.max(live, finishedMs)
        : live,
  })
  useWhenEvents(
    (batch) =>
      batch.hasMore ||
      callsIn(batch).some(({ tenantId, serviceCallId }) => tenantId === tenant && serviceCallId === id),
    () => void (id !== undefined && query.refetch()),
    soonestMs,
  )
  return query
}
