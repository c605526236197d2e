// Finds targets that the egress rules refuse without a lookup, so that a request with such a target can be refused at once. These are
// literal addresses, localhost, and names without a dot. `new URL` has already turned other spellings of an address
// (hexadecimal, octal, one number) into the usual form.
import { canonicalAddress } from "@punctual/door/AddressRanges"
import { keywordThatAllows, whyNeverAllowed } from "./addressKinds.ts"
import type { EgressRules } from "./Egress.ts"
import { isLocalhost, loopbackAddresses } from "./isLocalhost.ts"

export interface EarlyRefusal {
  /** The address or the name that the rules refuse. */
  readonly refused: string
  /** What to do about it. */
  readonly remedy: Remedy
}

/** An entry of the rules that would allow the address, or why no operator should allow it. */
export type Remedy = { readonly entry: string } | { readonly never: string }

/** `undefined` if the rules allow the host, or if only a lookup can tell. */
export const earlyRefusal = ({ hostname }: URL, egress: EgressRules): EarlyRefusal | undefined => {
  if (egress.isOpen) return undefined
  const address = literalAddress(hostname)
  if (address !== undefined) {
    return egress.allows(hostname, address) ? undefined : refusalOfAddress(address)
  }
  const name = hostname.replace(/\.$/, "")
  if (egress.allowsName(name)) return undefined
  if (isLocalhost(name)) {
    return loopbackAddresses.some((loopback) => egress.allows(name, loopback))
      ? undefined
      : { refused: name, remedy: { entry: "loopback" } }
  }
  // A name without a dot usually belongs to the local network. If a search domain leads it to an allowed address, the
  // operator can allow the name itself.
  return name.includes(".") || egress.allowsLocal
    ? undefined
    : { refused: name, remedy: { entry: entryForName(name) } }
}

const refusalOfAddress = (address: string): EarlyRefusal => ({
  refused: address,
  remedy: remedyFor(address, address),
})

/**
 * The refusal of an address that a lookup has found. It does not show the address: callers could use the service to
 * learn the addresses of a network that they cannot see.
 */
export const refusalOfFound = (hostname: string, address: string): EarlyRefusal => ({
  refused: `the address of ${hostname}`,
  remedy: remedyFor(address, entryForName(hostname.replace(/\.$/, ""))),
})

const remedyFor = (address: string, otherEntry: string): Remedy => {
  const never = whyNeverAllowed(address)
  return never === undefined ? { entry: keywordThatAllows(address) ?? otherEntry } : { never }
}

const entryForName = (name: string): string => (name.includes(".") ? name : `host:${name}`)

/** The address in canonical form, if the host of a URL is an address. */
export const literalAddress = (hostname: string): string | undefined =>
  canonicalAddress(hostname.replace(/^\[|\]$/g, ""))
