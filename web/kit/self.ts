/** Who the reader is, and what the reader may do. The service decides; the pages only hide what would be refused. */
import { useQuery } from "@tanstack/react-query"
import { call, isNotReady, type Self, selfCall } from "./serviceCall.ts"

export type Action = Self["actions"][number]

const againMs = 5_000
/** A service that starts is ready soon. */
const soonMs = 1_000

export const useSelfQuery = () =>
  useQuery({
    queryKey: ["self"],
    queryFn: ({ signal }) => call<Self>(selfCall, {}, signal),
    staleTime: 60_000,
    // Nothing works without this answer, so the page goes on asking.
    refetchInterval: ({ state }) =>
      isNotReady(state.error) ? soonMs : state.status === "error" ? againMs : false,
  })

export const useSelf = (): Self | undefined => useSelfQuery().data

const everyNamespace: ReadonlyArray<string> = ["*"]

/**
 * The namespaces of a search that names none: those of the reader's key. The service understands "all" too, but only for
 * pending timers and dead letters, and jobs refuse it to keys with fewer. Undefined until the service has answered. If
 * it cannot, the list itself will say why.
 */
export const useReachable = (): ReadonlyArray<string> | undefined => {
  const { data, error } = useSelfQuery()
  return data?.namespaces ?? (error === null ? undefined : everyNamespace)
}

/** Whether the namespace is the one of the rule, or begins like one that ends with `*`. */
export const covers = (rule: string, namespace: string): boolean =>
  rule === "*" || rule === namespace || (rule.endsWith("*") && namespace.startsWith(rule.slice(0, -1)))

/** Whether the reader may do this, in this namespace if one is given. Until it is known, nothing is allowed. */
export const useMay = (): ((action: Action, namespace?: string) => boolean) => {
  const self = useSelf()
  return (action, namespace) =>
    self?.actions.some((allowed) => allowed === "*" || allowed === action) === true &&
    (namespace === undefined || self.namespaces.some((rule) => covers(rule, namespace)))
}
