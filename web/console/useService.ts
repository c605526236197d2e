/** The state of the whole service. It also tells the pages the time of the service. */
import { useQuery } from "@tanstack/react-query"
import { useLiveInterval } from "../kit/live.ts"
import { learnServiceTime } from "../kit/now.ts"
import { call, type ServiceState } from "./api.ts"
import { useMay } from "./self.ts"

/** Undefined until the service has answered, and for readers who may not see it. */
export const useService = (): ServiceState | undefined => {
  const may = useMay()
  return useQuery({
    queryKey: ["service"],
    queryFn: async ({ signal }) => {
      const answer = await call<ServiceState>("service/get", {}, signal)
      // An answer tells the time only when it arrives. A page that opens later must not learn from it again.
      learnServiceTime(Date.parse(answer.now))
      return answer
    },
    enabled: may("service.read", "*"),
    refetchInterval: useLiveInterval(),
  }).data
}
