/** The settings of one namespace, such as whether it is paused. All pages share the answer. */
import { useQueries, useQuery } from "@tanstack/react-query"
import { useLiveInterval } from "../kit/live.ts"
import { useMay } from "../kit/self.ts"
import { call } from "../kit/serviceCall.ts"
import type { NamespaceView } from "./api.ts"

interface NamespaceFound {
  readonly settings: NamespaceView
}

/** Each answer costs the service two counts, so it is asked for rarely. */
const everyMs = 30_000

/** Where many namespaces meet, the page asks for the first ones only. */
const namespacesMax = 10

export const namespaceQuery = (namespace: string) => ({
  queryKey: ["namespace", namespace],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
    call<NamespaceFound>("namespaces/get", { namespace }, signal),
})

/** Undefined until it is known, and for readers who may not see it. */
export const useNamespace = (namespace: string): NamespaceView | undefined => {
  const may = useMay()
  return useQuery({
    ...namespaceQuery(namespace),
    enabled: namespace !== "" && may("namespaces.read", namespace),
    staleTime: everyMs,
    refetchInterval: useLiveInterval(everyMs),
    retry: false,
  }).data?.settings
}

/** Those of the namespaces that are paused, as far as it is known. */
export const usePausedAmong = (namespaces: ReadonlyArray<string>): ReadonlyArray<string> => {
  const may = useMay()
  const refetchInterval = useLiveInterval(everyMs)
  const asked = [...new Set(namespaces)]
    .filter((name) => may("namespaces.read", name))
    .slice(0, namespacesMax)
  return useQueries({
    queries: asked.map((name) => ({
      ...namespaceQuery(name),
      staleTime: everyMs,
      refetchInterval,
      retry: false,
    })),
  }).flatMap(({ data }) => (data?.settings.paused === true ? [data.settings.namespace] : []))
}
