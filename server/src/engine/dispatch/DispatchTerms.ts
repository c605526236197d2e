// The settings that decide which attempts may start. The dispatcher reads them before each attempt.
import type { PastPause } from "../../domain/NamespaceSettings.ts"
import type { NamespaceDirectory } from "../namespaces/NamespaceDirectory.ts"

export interface DispatchTerms {
  /** How many attempts of the namespace may run on this node at once: 0 while it or the whole service is paused. */
  mostInFlight(namespace: string): number
  /** The pauses of the namespace. Their time does not count against expireAfter and maxDuration. */
  pausesOf(namespace: string): ReadonlyArray<PastPause>
}

export interface OwnedPart {
  readonly ownedShards: number
  readonly shards: number
}

/** A limit for the whole cluster is divided by shards, because keys are distributed evenly over them. */
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
