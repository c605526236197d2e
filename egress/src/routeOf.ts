// The address that an attempt connects to. This file resolves the host, judges each address, and sends the request to an
// allowed address. The name stays in the Host header and for the certificate. So nothing resolves the name again: `fetch`
// would do it on a few threads that all tenants share.
import { canonicalAddress } from "@punctual/door/AddressRanges"
import type { EgressRules } from "./Egress.ts"
import { literalAddress } from "./earlyRefusal.ts"
import type { Resolve } from "./Resolver.ts"

export interface Destination {
  /** The address to connect to. */
  readonly address: string
  readonly href: string
  /** The Host header, if the URL has an address in place of the name. */
  readonly host?: string
  /** The name that the certificate must have, if the URL has an address in place of the name. */
  readonly serverName?: string
}

/** The order is the order of tries. Most attempts need only the first one, so the others are made on demand. */
export interface Destinations {
  readonly first: Destination
  readonly others: ReadonlyArray<() => Destination>
}

export type EgressVerdict =
  | { readonly kind: "allowed"; readonly destinations: Destinations }
  | { readonly kind: "refused" }

/** How many addresses of a name are tried in one attempt. */
const maxDestinations = 4

/** Synchronous if no lookup is needed. Throws or rejects if the host cannot be resolved. */
export const routeOf = (
  url: URL,
  egress: EgressRules,
  resolve: Resolve,
  namespace: string,
): EgressVerdict | Promise<EgressVerdict> => {
  const literal = literalAddress(url.hostname)
  if (literal !== undefined) {
    return egress.isOpen
      ? { kind: "allowed", destinations: { first: { address: literal, href: url.href }, others: [] } }
      : judge(url, egress, [literal], false)
  }
  const found = resolve(url.hostname, namespace)
  return found instanceof Promise
    ? found.then((addresses) => judge(url, egress, addresses, true))
    : judge(url, egress, found, true)
}

const judge = (
  url: URL,
  egress: EgressRules,
  addresses: ReadonlyArray<string>,
  isNamed: boolean,
): EgressVerdict => {
  const allowed: Array<string> = []
  for (const address of addresses) {
    const canonical = canonicalAddress(address)
    if (canonical === undefined || !egress.allows(url.hostname, canonical)) continue
    allowed.push(canonical)
    if (allowed.length === maxDestinations) break
  }
  const [first, ...others] = allowed
  if (first !== undefined) {
    const destinations = {
      first: destinationAt(url, first, isNamed),
      others: others.map((other) => () => destinationAt(url, other, isNamed)),
    }
    return { kind: "allowed", destinations }
  }
  // A name without addresses may get some later, so this is a failure that is retried, and not a refusal.
  if (addresses.length === 0) throw Object.assign(new Error("no address"), { code: "ENOTFOUND" })
  return { kind: "refused" }
}

const destinationAt = (url: URL, address: string, isNamed: boolean): Destination => {
  const host = url.host
  // Not every caller needs the URL, and making it costs more than judging the address.
  const at = {
    address,
    host,
    get href() {
      return hrefAt(url, address)
    },
  }
  if (!isNamed || url.protocol === "http:") return at
  return Object.assign(at, { serverName: url.hostname.replace(/\.$/, "") })
}

const hrefAt = (url: URL, address: string): string => {
  const at = new URL(url)
  at.hostname = address.includes(":") ? `[${address}]` : address
  return at.href
}
