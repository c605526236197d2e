// Finds targets that the egress rules refuse without a lookup, so that a create can be refused at once. These are
// literal addresses, localhost, and names without a dot. `new URL` has already turned other spellings of an address
// (hexadecimal, octal, one number) into the usual form.
import { canonicalAddress, type EgressRules, entryThatAllows, whyNeverAllowed } from "./Egress.ts"
import { isLocalhost, loopbackAddresses } from "./isLocalhost.ts"

export interface EarlyRefusal {
  /** The address or the name that the rules refuse. */
  readonly refused: string
  /** An entry of TIMER_EGRESS that would allow it; absent if it is an address that no operator should allow. */
  readonly entry?: string
}

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
      : { refused: name, entry: "loopback" }
  }
  // A name without a dot usually belongs to the local network. If a search domain leads it to an allowed address, the
  // operator can allow the name itself.
  return name.includes(".") || egress.allowsLocal ? undefined : { refused: name, entry: `host:${name}` }
}

export const refusalOfAddress = (address: string): EarlyRefusal =>
  whyNeverAllowed(address) === undefined
    ? { refused: address, entry: entryThatAllows(address) }
    : { refused: address }

/** The address in canonical form, if the host of a URL is an address. */
export const literalAddress = (hostname: string): string | undefined =>
  canonicalAddress(hostname.replace(/^\[|\]$/g, ""))
