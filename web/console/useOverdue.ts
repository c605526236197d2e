import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { type CappedCount, countText } from "../kit/countText.ts"
import { nowMs } from "../kit/now.ts"
import { useMay } from "../kit/self.ts"
import { call } from "../kit/serviceCall.ts"

/**
 * How many timers are overdue, in words, in one namespace or in all (`*`). Undefined until it is known, and for readers who
 * may not know. It is counted once, when the question about it opens.
 */
export const useOverdue = (namespace: string, isWanted = true): string | undefined => {
  const may = useMay()
  const [until] = useState(() => new Date(nowMs()).toISOString())
  const { data } = useQuery({
    queryKey: ["overdue", namespace, until],
    queryFn: ({ signal }) =>
      call<CappedCount>("timers/count", { namespaces: [namespace], states: ["pending"], until }, signal),
    enabled: isWanted && may("timers.read", namespace),
  })
  if (data === undefined) return undefined
  return `${countText(data)} ${data.count === 1 ? "timer is" : "timers are"}`
}
