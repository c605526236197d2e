/**
 * Lists of addresses and ranges of addresses, such as `10.0.0.0/8`. The rules about callers and the rules about webhooks
 * read the same notation.
 */
import { BlockList, isIPv4, isIPv6 } from "node:net"

/**
 * One form for each address: IPv6 compressed and in lower case, and IPv4-mapped IPv6 as the IPv4 address that a
 * connection to it reaches. `undefined` if the text is not an address or has a zone.
 */
export const canonicalAddress = (address: string): string | undefined => {
  if (isIPv4(address)) return address
  if (!isIPv6(address) || !URL.canParse(`http://[${address}]`)) return undefined
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical)
  if (mapped === null) return canonical
  const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)]
  return ipv4Of(high, low)
}

/** The address in two groups of an IPv6 address. */
export const ipv4Of = (high: number, low: number): string =>
  `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`

export type Subnet = readonly [base: string, prefix: number]

/** Reads an address or a range. The problem is the end of a sentence about the text. */
export const parseSubnet = (text: string): { readonly subnet: Subnet } | { readonly problem: string } => {
  const [base = "", prefixText, ...rest] = text.split("/")
  const address = canonicalAddress(base)
  if (address === undefined || rest.length > 0)
    return { problem: "is not an address and not a range such as 10.0.0.0/8 or fd00::/8." }
  if (isIPv4(address) !== isIPv4(base)) return { problem: "is an IPv4-mapped address. Write it as IPv4." }
  const bits = isIPv4(address) ? 32 : 128
  const prefix = prefixText === undefined ? bits : /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : -1
  return prefix < 0 || prefix > bits
    ? { problem: `needs a prefix length from 0 to ${bits}.` }
    : { subnet: [address, prefix] }
}

export class AddressRanges {
  // One list for each family: in a common list, IPv6 ranges would also match IPv4 addresses by their mapped form.
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() }

  constructor(subnets: ReadonlyArray<Subnet> = []) {
    for (const subnet of subnets) this.add(subnet)
  }

  add([base, prefix]: Subnet): void {
    const family = isIPv4(base) ? "ipv4" : "ipv6"
    this.#lists[family].addSubnet(base, prefix, family)
  }

  /** `address` must be in canonical form. */
  has(address: string): boolean {
    const family = isIPv4(address) ? "ipv4" : "ipv6"
    return this.#lists[family].check(address, family)
  }
}
