// From a host name to its addresses, for callbacks whose addresses must be judged before connecting.
// Answers are kept for a few seconds, because a busy endpoint would otherwise cost a look-up for each
// delivery; what is kept are addresses, not verdicts: each attempt judges them again.
import { lookup } from "node:dns/promises"

/** All addresses of a name, in the order in which to try them. Rejects if it has none. */
export type Resolve = (host: string) => Promise<ReadonlyArray<string>>

/** The system's own resolver, with its hosts file; IPv4 first, as it is the family that surely has a route. */
export const systemResolve: Resolve = async (host) => {
  const found = await lookup(host, { all: true, order: "ipv4first" })
  return found.map(({ address }) => address)
}

export interface ResolveCache {
  readonly ttlMs: number
  readonly maxHosts: number
  /** Monotonic. */
  readonly nowMs: () => number
}

const defaultCache: ResolveCache = { ttlMs: 10_000, maxHosts: 1_000, nowMs: () => performance.now() }

/** Attempts that ask at the same time share one look-up. Failures are not kept. */
export const cachedResolve = (resolve: Resolve, cache: ResolveCache = defaultCache): Resolve => {
  const kept = new Map<string, { readonly until: number; readonly addresses: ReturnType<Resolve> }>()
  return (host) => {
    const nowMs = cache.nowMs()
    const hit = kept.get(host)
    if (hit !== undefined && nowMs < hit.until) return hit.addresses
    const addresses = resolve(host)
    const entry = { until: nowMs + cache.ttlMs, addresses }
    // A map keeps the order of insertion, so the first host is the one whose answer is oldest.
    kept.delete(host)
    for (const oldest of kept.keys()) {
      if (kept.size < cache.maxHosts) break
      kept.delete(oldest)
    }
    kept.set(host, entry)
    addresses.catch(() => {
      if (kept.get(host) === entry) kept.delete(host)
    })
    return addresses
  }
}
