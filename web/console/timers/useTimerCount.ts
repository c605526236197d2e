/** How many timers match a search. Rows never wait for it. */
import type { CountTimersAnswer } from "@punctual/api/ListTimers"
import { useQuery } from "@tanstack/react-query"
import { call } from "../../kit/serviceCall.ts"
import { needsNamespace, type SearchRequest } from "./search.ts"

export type CountAnswer = typeof CountTimersAnswer.Encoded

export const useTimerCount = (request: SearchRequest, isWanted = true): CountAnswer | undefined =>
  useQuery({
    queryKey: ["count", request],
    queryFn: ({ signal }) => call<CountAnswer>("timers/count", request, signal),
    enabled: isWanted && !needsNamespace(request),
  }).data
