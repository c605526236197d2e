// What operators have set about which attempts may start, as the dispatcher asks for it before each of them.
import type { PastPause } from "../../domain/NamespaceSettings.ts"
import type { NamespaceDirectory } from "../namespaces/NamespaceDirectory.ts"

export interface DispatchTerms {
  /** How many attempts of the namespace may run on this node at once: none while it, or the whole service, is paused. */
  mostInFlight(namespace: string): number
  /** When nothing of the namespace was fired: that time does not count against its timers. */
  pausesOf(namespace: string): ReadonlyArray<PastPause>
}

export interface OwnedPart {
  readonly ownedShards: number
  readonly shards: number
}

/** A bound over the whole cluster is shared out by shards: keys are spread evenly over them. */
export const makeDispatchTerms = (
  directory: Pick<NamespaceDirectory["Service"], "of" | "service">,
  part: () => OwnedPart,
): DispatchTerms => ({
  mostInFlight: (namespace) => {
    const { settings, isPaused } = directory.of(namespace)
    if (isPaused || directory.service().pause !== undefined) return 0
    const { maxInFlight } = settings
    if (maxInFlight === undefined) return Number.POSITIVE_INFINITY
    const { ownedShards, shards } = part()
    return Math.max(1, Math.ceil((maxInFlight * ownedShards) / Math.max(1, shards)))
  },
  pausesOf: (namespace) => directory.of(namespace).pauses,
})
