/** The state of the whole service. It also tells the pages the time of the service. */
import { useQuery } from "@tanstack/react-query"
import { useEffect } from "react"
import { useLiveInterval } from "../kit/live.ts"
import { learnServiceTime, trustBrowserClock } from "../kit/now.ts"
import { useMay, useSelf } from "../kit/self.ts"
import { call } from "../kit/serviceCall.ts"
import type { ServiceState } from "./api.ts"

/** Undefined until the service has answered, and for readers who may not see it. */
export const useService = (): ServiceState | undefined => {
  const isLoaded = useSelf() !== undefined
  const isAllowed = useMay()("service.read", "*")
  const { data, isError } = useQuery({
    queryKey: ["service"],
    queryFn: async ({ signal }) => {
      const answer = await call<ServiceState>("service/get", {}, signal)
      // An answer tells the time only when it arrives. A page that opens later must not learn from it again.
      learnServiceTime(Date.parse(answer.now))
      return answer
    },
    enabled: isAllowed,
    refetchInterval: useLiveInterval(),
  })
  const isSilent = isError || (isLoaded && !isAllowed)
  useEffect(() => {
    if (isSilent) trustBrowserClock()
  }, [isSilent])
  return data
}
