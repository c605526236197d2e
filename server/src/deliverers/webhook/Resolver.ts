// Resolves host names for webhooks whose addresses must be judged before connecting. Results are cached for a few
// seconds, because a busy endpoint would otherwise need a lookup for each delivery. The cache has addresses and not
// verdicts: each attempt judges them again.
import { lookup } from "node:dns/promises"

/** All addresses of a name, in the order to try them. Rejects if there are none. */
export type Resolve = (host: string) => Promise<ReadonlyArray<string>>

/** The resolver of the system, with its hosts file. IPv4 comes first, because it is more likely to have a route. */
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

/** Attempts at the same time share one lookup. Failures are not cached. */
export const cachedResolve = (resolve: Resolve, cache: ResolveCache = defaultCache): Resolve => {
  const kept = new Map<string, { readonly until: number; readonly addresses: ReturnType<Resolve> }>()
  return (host) => {
    const nowMs = cache.nowMs()
    const hit = kept.get(host)
    if (hit !== undefined && nowMs < hit.until) return hit.addresses
    const addresses = resolve(host)
    const entry = { until: nowMs + cache.ttlMs, addresses }
    // A map keeps the order of insertion, so the first host has the oldest result.
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
