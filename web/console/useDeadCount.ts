/** How many dead letters there are in all namespaces that the reader may see. */

import { useQuery } from "@tanstack/react-query"
import { type CappedCount, countText } from "../kit/countText.ts"
import { useLiveInterval } from "../kit/live.ts"
import { useMay, useReachable } from "../kit/self.ts"
import { call } from "../kit/serviceCall.ts"

const everyMs = 30_000

/** Undefined until it is known, and for readers who may not know. */
export const useDeadCount = (): CappedCount | undefined => {
  const namespaces = useReachable()
  const request = { namespaces, states: ["dead"] }
  return useQuery({
    queryKey: ["count", request],
    queryFn: ({ signal }) => call<CappedCount>("timers/count", request, signal),
    enabled: useMay()("timers.read") && namespaces !== undefined,
    staleTime: everyMs,
    refetchInterval: useLiveInterval(everyMs),
    retry: false,
  }).data
}

export const deadLettersText = (dead: CappedCount): string =>
  `${countText(dead)} ${dead.count === 1 ? "dead letter" : "dead letters"}`
