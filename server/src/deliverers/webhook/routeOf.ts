// Where the connection of one attempt goes. Under `open` that is the URL as it stands. Under any other rule
// the host is resolved here, each address is judged, and the request is addressed to one that was allowed,
// with the name kept for the Host header and for the certificate: nothing is left to be resolved again.
import { canonicalAddress, type EgressRules } from "./Egress.ts"
import type { Resolve } from "./Resolver.ts"

export interface Destination {
  readonly href: string
  /** The Host header, where the URL no longer has the name. */
  readonly host?: string
  /** The name that the certificate must carry, likewise. */
  readonly serverName?: string
}

/** In the order in which to try them. */
export type Destinations = readonly [Destination, ...Array<Destination>]

/** Where to, or why not. */
export type EgressVerdict =
  | { readonly kind: "allowed"; readonly destinations: Destinations }
  | { readonly kind: "refused"; readonly address: string }

/** How many addresses of a name are tried in one attempt. */
const maxDestinations = 4

/** Answers at once where nothing has to be looked up; rejects if the host does not resolve. */
export const routeOf = (
  url: URL,
  egress: EgressRules,
  resolve: Resolve,
): EgressVerdict | Promise<EgressVerdict> => {
  if (egress.isOpen) return { kind: "allowed", destinations: [{ href: url.href }] }
  const literal = canonicalAddress(url.hostname.replace(/^\[|\]$/g, ""))
  if (literal !== undefined) return judge(url, egress, [literal], false)
  return resolve(url.hostname).then((addresses) => judge(url, egress, addresses, true))
}

const judge = (
  url: URL,
  egress: EgressRules,
  addresses: ReadonlyArray<string>,
  isNamed: boolean,
): EgressVerdict => {
  const allowed: Array<Destination> = []
  for (const address of addresses) {
    const canonical = canonicalAddress(address)
    if (canonical === undefined || !egress.allows(url.hostname, canonical)) continue
    allowed.push(destinationAt(url, canonical, isNamed))
    if (allowed.length === maxDestinations) break
  }
  const [first, ...others] = allowed
  if (first !== undefined) return { kind: "allowed", destinations: [first, ...others] }
  const [address] = addresses
  // A name without addresses may have some tomorrow: that is no refusal.
  if (address === undefined) throw Object.assign(new Error("no address"), { code: "ENOTFOUND" })
  return { kind: "refused", address }
}

const destinationAt = (url: URL, address: string, isNamed: boolean): Destination => {
  const at = new URL(url)
  at.hostname = address.includes(":") ? `[${address}]` : address
  const host = url.host
  if (!isNamed || url.protocol === "http:") return { href: at.href, host }
  return { href: at.href, host, serverName: url.hostname.replace(/\.$/, "") }
}
