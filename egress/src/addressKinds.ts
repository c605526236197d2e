// Which addresses are public, local, or of a kind that no keyword of the egress rules allows. All addresses are in the
// canonical form of `canonicalAddress`.
import { isIPv4 } from "node:net"
import { AddressRanges, ipv4Of, type Subnet } from "@punctual/door/AddressRanges"

const rangesOf = (...subnets: ReadonlyArray<Subnet>): AddressRanges => new AddressRanges(subnets)

/** Only global unicast addresses of IPv6 are routed on the public internet. */
const unicast = rangesOf(["0.0.0.0", 0], ["2000::", 3])

/** Reserved ranges, which are not on the public internet. */
const setAside = rangesOf(
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // shared, behind a provider's translation
  ["127.0.0.0", 8], // loopback
  ["169.254.0.0", 16], // link-local, and the metadata services of clouds
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, and broadcast
  ["2001::", 23], // protocol assignments, Teredo (2001::/32) among them
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4, which leads to any IPv4 address
  ["3fff::", 20], // documentation
)

export const isPublicAddress = (address: string): boolean =>
  unicast.has(address) && !setAside.has(address) && !isMetadataAddress(address)

export const localKeywords = ["private", "loopback"] as const

export type LocalKeyword = (typeof localKeywords)[number]

export const localRanges: { readonly [keyword in LocalKeyword]: AddressRanges } = {
  private: rangesOf(["10.0.0.0", 8], ["172.16.0.0", 12], ["192.168.0.0", 16], ["fc00::", 7]),
  loopback: rangesOf(["127.0.0.0", 8], ["::1", 128]),
}

const linkLocal = rangesOf(["169.254.0.0", 16], ["fe80::", 10])

/** The metadata services of clouds. Some are in the ranges of `public` and `private`. */
const metadataServices = rangesOf(
  ["169.254.169.254", 32], // most clouds
  ["100.100.100.200", 32], // Alibaba
  ["168.63.129.16", 32], // Azure
  ["192.0.0.192", 32], // Oracle
  ["fd00:ec2::", 32], // Amazon: metadata, credentials, names, time
  ["fd20:ce::", 48], // Google
  ["fd00:c1::a9fe:a9fe", 128], // Oracle
  ["fd00:42::42", 128], // Scaleway
)

/**
 * Whether a metadata service of a cloud may answer at the address. Such a service gives credentials of the machine to
 * everybody who can call it. Networks that translate IPv6 to IPv4 may use a prefix of their own, so the last part of
 * every IPv6 address is checked too.
 */
export const isMetadataAddress = (address: string): boolean => {
  if (isLinkLocal(address) || metadataServices.has(address)) return true
  if (isIPv4(address)) return false
  const groups = groupsOf(address)
  return metadataServices.has(translatedIPv4(groups) ?? lastIPv4(groups))
}

const isLinkLocal = (address: string): boolean => linkLocal.has(address) || linkLocal.has(reachedBy(address))

/**
 * Why no operator should allow the address, as the end of a sentence about it; `undefined` for usual addresses. Errors
 * do not suggest an entry for such an address, because callers would ask operators for it.
 */
export const whyNeverAllowed = (address: string): string | undefined => {
  if (isLinkLocal(address)) {
    return "a link-local address. The metadata service of a cloud uses such addresses"
  }
  if (isMetadataAddress(address)) return "an address of the metadata service of a cloud"
  const reached = reachedBy(address)
  return neverAllowed.find(({ ranges }) => ranges.has(reached))?.what
}

const neverAllowed = [
  { what: "an unspecified address", ranges: rangesOf(["0.0.0.0", 8], ["::", 128]) },
  {
    what: "a multicast or broadcast address",
    ranges: rangesOf(["224.0.0.0", 4], ["255.255.255.255", 32], ["ff00::", 8]),
  },
]

/** The keyword that would allow the address, if there is one. */
export const keywordThatAllows = (address: string): "public" | LocalKeyword | undefined =>
  isPublicAddress(address) ? "public" : localKeywords.find((keyword) => localRanges[keyword].has(address))

/** The IPv4 address that a translator reaches in place of this address, or the address itself. */
const reachedBy = (address: string): string =>
  isIPv4(address) ? address : (translatedIPv4(groupsOf(address)) ?? address)

const translatedIPv4 = (groups: ReadonlyArray<number>): string | undefined => {
  const [first = 0, second = 0, third = 0, , fifth, sixth, seventh = 0] = groups
  // 6to4.
  if (first === 0x2002) return ipv4Of(second, third)
  // NAT64, with the usual prefix or a local one.
  if (first === 0x64 && second === 0xff9b) return lastIPv4(groups)
  // The old IPv4-compatible form, and the translated form ::ffff:0:a.b.c.d.
  const isOld = groups.slice(0, 6).every((group) => group === 0) && seventh !== 0
  const isTranslated = groups.slice(0, 4).every((group) => group === 0) && fifth === 0xffff && sixth === 0
  return isOld || isTranslated ? lastIPv4(groups) : undefined
}

const lastIPv4 = (groups: ReadonlyArray<number>): string => ipv4Of(groups[6] ?? 0, groups[7] ?? 0)

/** The eight groups of an IPv6 address. */
const groupsOf = (address: string): ReadonlyArray<number> => {
  const [left = [], right = []] = address
    .split("::")
    .map((part) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16))))
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}
