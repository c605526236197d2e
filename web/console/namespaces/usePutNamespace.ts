/** Changes settings of a namespace. The caller sends only the fields that change; the service keeps the others. */
import type { PutNamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { call } from "../../kit/serviceCall.ts"

export type PutAnswer = typeof PutNamespaceAnswer.Encoded

/** The fields to change. null sets a field back to its default. */
export type NamespaceChanges = Readonly<Record<string, unknown>>

export const usePutNamespace = (namespace: string) => {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (changes: NamespaceChanges) => call<PutAnswer>("namespaces/put", { namespace, ...changes }),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["namespace", namespace] }),
        queries.invalidateQueries({ queryKey: ["namespaces"] }),
      ]),
  })
}
