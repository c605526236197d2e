// One question to the name servers of the system. Only this file of the package knows the runtime.

export type Addresses = ReadonlyArray<string>

/** One question to the name servers. It must settle at some time. */
export type NameLookup = (host: string) => Promise<Addresses>

/**
 * Asks the name servers of the system, and reads its hosts file and its search domains. This lookup uses sockets. The
 * lookup of `node:dns` uses a few threads, which all tenants and `fetch` would share, so slow names would block it. IPv4
 * comes first, because it is more likely to have a route.
 */
export const systemLookup: NameLookup = async (host) => {
  const found = await Bun.dns.lookup(host, { backend: "c-ares" })
  return found.toSorted((a, b) => a.family - b.family).map(({ address }) => address)
}
