/** The program of the service and its settings. They change only with a restart, so they are asked for rarely. */
import { useQuery } from "@tanstack/react-query"
import { call } from "../../kit/serviceCall.ts"
import type { ServiceState } from "../api.ts"

export const useProgram = () =>
  useQuery({
    queryKey: ["program"],
    queryFn: ({ signal }) => call<ServiceState>("service/get", { settings: true }, signal),
    staleTime: 60_000,
  })
