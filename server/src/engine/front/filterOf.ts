// Translates a filter of the contract to a filter of the store.
import type { ListTimers } from "@punctual/api/ListTimers"
import { canonicalHost } from "@punctual/api/TargetHost"
import type { TimerFilter } from "@punctual/api/TimerFilter"
import type { ListedState, ListFilter } from "../../ports/TimerStore.ts"

/** `now` is the time from which the lateness of pending timers counts. */
export const filterOf = (filter: typeof TimerFilter.Type, now: number): ListFilter => ({
  ...(filter.from === undefined ? {} : { inclusiveFromMs: filter.from }),
  ...(filter.until === undefined ? {} : { exclusiveUntilMs: filter.until }),
  ...(filter.idPrefix === undefined ? {} : { idPrefix: filter.idPrefix }),
  ...(filter.correlationId === undefined ? {} : { correlationId: filter.correlationId }),
  ...(filter.tag === undefined ? {} : { tag: filter.tag }),
  ...(filter.host === undefined ? {} : { host: canonicalHost(filter.host) ?? filter.host }),
  ...(filter.reason === undefined ? {} : { reason: filter.reason }),
  ...(filter.error === undefined ? {} : { error: filter.error }),
  ...(filter.minLateness === undefined ? {} : { minLateness: { ms: filter.minLateness, nowMs: now } }),
})

type Scope = Pick<ListTimers, "namespace" | "namespaces" | "state" | "states">

/** The namespaces and states of a list. The schema of the contract guarantees that the request names namespaces. */
export const scopeOf = ({ namespace, namespaces = [], state = "pending", states }: Scope) => {
  const [only = state, ...others] = states ?? []
  const listed: ListedState | ReadonlyArray<ListedState> = others.length === 0 ? only : [only, ...others]
  return { namespace: namespace ?? namespaces, state: listed }
}
