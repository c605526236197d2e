import { useMutation, useQueryClient } from "@tanstack/react-query"
import { call } from "../../kit/serviceCall.ts"
import type { ServiceState } from "../api.ts"

/** Pauses or resumes all firing. */
export const useServiceChange = (name: "pause" | "resume") => {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (body: object) => call<ServiceState>(`service/${name}`, body),
    onSuccess: (answer) => queries.setQueryData(["service"], answer),
    onSettled: () => queries.invalidateQueries({ queryKey: ["service"] }),
  })
}
