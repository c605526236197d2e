// The addresses that webhooks may reach. Anyone who can create a timer chooses a URL that this process calls. On a
// shared network a timer could reach what its creator cannot: a metadata service, an admin port, a database. The rules
// judge addresses and not names, because a name can lead anywhere. The deliverer connects to exactly the address that
// was judged, so a name that changes its address between check and connection cannot avoid the rules.
import { BlockList, isIPv4, isIPv6 } from "node:net"
import { domainToASCII } from "node:url"
import { nearName } from "@punctual/api/nearName"
import { Result, Schema } from "effect"

export interface EgressRules {
  /** Everything may be reached. */
  readonly isOpen: boolean
  /** Whether any address outside the public internet is allowed by its number, and not only by the name of its host. */
  readonly allowsLocal: boolean
  /** Whether a webhook to `host` may connect to `address`, which must be in canonical form. */
  allows(host: string, address: string): boolean
  /** Whether an entry allows every address of this host name. */
  allowsName(host: string): boolean
  /** The entry that allows the connection; `undefined` if none does. */
  entryFor(host: string, address: string): string | undefined
}

/** The message does not name the setting. */
export class BadEgressEntry extends Schema.TaggedError<BadEgressEntry>()("BadEgressEntry", {
  entry: Schema.String,
  message: Schema.String,
}) {}

/** For a service that only its own machine can reach. */
export const openEgress: EgressRules = {
  isOpen: true,
  allowsLocal: true,
  allows: () => true,
  allowsName: () => true,
  entryFor: () => "open",
}

/**
 * Reads `open`, or a list of `public`, `private`, `loopback`, CIDR ranges, single addresses, host names with a dot,
 * `*.suffix` patterns, and `host:name` for a name without a dot. An entry for a name trusts the name: every address that
 * it resolves to is allowed.
 */
export const parseEgress = (text: string): Result.Result<EgressRules, BadEgressEntry> => {
  const entries = text.split(",").map((entry) => entry.trim().toLowerCase())
  if (entries.length === 1 && entries[0] === "open") return Result.succeed(openEgress)
  const list = new EgressList()
  for (const entry of entries) {
    const wrong = list.add(entry)
    if (wrong !== undefined) {
      const isEmpty = entry === ""
      return Result.fail(
        new BadEgressEntry({ entry, message: isEmpty ? emptyText(entries) : `"${entry}" ${wrong}` }),
      )
    }
  }
  return Result.succeed(list)
}

/**
 * Why no operator should allow the address, as the end of a sentence about it; `undefined` for usual addresses. Errors
 * do not suggest an entry for such an address, because callers would ask operators for it.
 */
export const whyNeverAllowed = (address: string): string | undefined => {
  const family = isIPv4(address) ? "ipv4" : "ipv6"
  const kind = neverAllowed.find(({ ranges }) => ranges.check(address, family))
  return kind?.what
}

/** The shortest entry that would allow the address. */
export const entryThatAllows = (address: string): string => {
  const family = isIPv4(address) ? "ipv4" : "ipv6"
  if (isPublic(address, family)) return "public"
  const keyword = localKeywords.find((name) => localRanges[name].check(address, family))
  return keyword ?? address
}

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
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

type Family = "ipv4" | "ipv6"

interface NamedRange {
  readonly entry: string
  readonly family: Family
  readonly range: BlockList
}

class EgressList implements EgressRules {
  readonly isOpen = false
  #allowsPublic = false
  // One list for each family: in a common list, IPv6 ranges would also match IPv4 addresses by their mapped form.
  readonly #ranges = { ipv4: new BlockList(), ipv6: new BlockList() }
  /** The same ranges one by one, to name the entry that allows an address. */
  readonly #namedRanges: Array<NamedRange> = []
  readonly #hosts = new Map<string, string>()
  readonly #suffixes: Array<string> = []

  get allowsLocal(): boolean {
    return this.#namedRanges.length > 0
  }

  /** What is wrong with the entry; `undefined` if it was added. */
  add(entry: string): string | undefined {
    if (entry === "") return "is empty."
    if (entry === "open") return "allows everything. Write open alone, without other entries."
    if (entry === "public") {
      this.#allowsPublic = true
      return undefined
    }
    const keyword = localKeywords.find((name) => name === entry)
    if (keyword !== undefined) {
      for (const [base, prefix] of localSubnets[keyword]) this.#addSubnet(keyword, base, prefix)
      return undefined
    }
    const slip = usualSlip(entry)
    if (slip !== undefined) return slip
    if (entry.startsWith(hostPrefix)) return this.#addHost(entry, entry.slice(hostPrefix.length))
    if (/^[0-9.]+(\/|$)|:|\//.test(entry)) return this.#addRange(entry)
    return entry.includes(".") ? this.#addHost(entry, entry) : whyNotKeyword(entry)
  }

  allows(host: string, address: string): boolean {
    const family = isIPv4(address) ? "ipv4" : "ipv6"
    if (this.#allowsPublic && isPublic(address, family)) return true
    return this.#ranges[family].check(address, family) || this.allowsName(host)
  }

  allowsName(host: string): boolean {
    return this.#entryForName(host) !== undefined
  }

  entryFor(host: string, address: string): string | undefined {
    const family = isIPv4(address) ? "ipv4" : "ipv6"
    if (this.#allowsPublic && isPublic(address, family)) return "public"
    const named = this.#namedRanges.find(
      (candidate) => candidate.family === family && candidate.range.check(address, family),
    )
    return named?.entry ?? this.#entryForName(host)
  }

  #entryForName(host: string): string | undefined {
    const name = host.endsWith(".") ? host.slice(0, -1) : host
    const suffix = this.#suffixes.find((candidate) => name.endsWith(candidate))
    return this.#hosts.get(name) ?? (suffix === undefined ? undefined : `*${suffix}`)
  }

  #addRange(entry: string): string | undefined {
    const [base = "", prefixText, ...rest] = entry.split("/")
    const address = canonicalAddress(base)
    if (address === undefined || rest.length > 0) {
      return "is not an address, not a range such as 10.0.0.0/8 or fd00::/8, and not a host name."
    }
    if (isIPv4(address) !== isIPv4(base)) return "is an IPv4-mapped address. Write it as IPv4."
    const bits = isIPv4(address) ? 32 : 128
    const prefix = prefixText === undefined ? bits : /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : -1
    if (prefix < 0 || prefix > bits) return `needs a prefix length from 0 to ${bits}.`
    this.#addSubnet(entry, address, prefix)
    return undefined
  }

  #addSubnet(entry: string, base: string, prefix: number): void {
    const family = isIPv4(base) ? "ipv4" : "ipv6"
    this.#ranges[family].addSubnet(base, prefix, family)
    const range = new BlockList()
    range.addSubnet(base, prefix, family)
    this.#namedRanges.push({ entry, family, range })
  }

  #addHost(entry: string, host: string): string | undefined {
    const isSuffix = entry.startsWith("*.")
    const name = domainToASCII(isSuffix ? host.slice(2) : host)
    if (!hostName.test(name)) {
      return "is not a host name. Write hooks.example.com, *.internal, or host:name for a name without a dot."
    }
    if (isSuffix) this.#suffixes.push(`.${name}`)
    else this.#hosts.set(name, entry)
    return undefined
  }
}

const hostPrefix = "host:"
const keywords = ["open", "public", "private", "loopback"]

const emptyText = (entries: ReadonlyArray<string>): string =>
  entries.length === 1
    ? "The list is empty. Write open, or a list such as public,private,*.internal."
    : "The list has an empty entry. Remove the extra comma."

/** Forms that operators often try, and what to write instead. */
const usualSlip = (entry: string): string | undefined => {
  const parts = entry.split(/[\s;|]+/).filter((part) => part !== "")
  if (parts.length > 1) return `is not one entry. Separate entries with a comma: ${parts.join(",")}`
  if (entry === "*") return "is not an entry. Write open instead of *."
  if (["all", "any", "everything"].includes(entry)) return "is not a keyword. Did you mean open?"
  if (["none", "off", "nothing"].includes(entry)) {
    return "is not a keyword, because the rules cannot refuse every address. The closest is a list with one address that no host has: 192.0.2.1."
  }
  if (entry.startsWith(hostPrefix)) return slipOfHost(entry.slice(hostPrefix.length))
  const bracketed = /^\[([0-9a-f:.]+)\](:\d*)?$/.exec(entry)
  if (bracketed !== null) {
    return `is not an address. Write ${bracketed[1]}, without brackets${bracketed[2] === undefined ? "" : " and without a port"}.`
  }
  const host =
    /^(?:[a-z][a-z0-9+.-]*:)?\/\/(?:[^/@]*@)?(\[[0-9a-f:.]+\]|[^/:?#]+)/.exec(entry)?.[1] ?? hostBefore(entry)
  return host === undefined ? undefined : `is not a host. Write only the host: ${entryOf(host)}`
}

/** The host before a port or a path. An entry with a second colon is an IPv6 address or a range. */
const hostBefore = (entry: string): string | undefined => {
  const [, withPort, withPath] = /^(?:([^:/]+):\d{0,5}(?:\/.*)?|([^:/]*[a-z][^:/]*)\/.*)$/.exec(entry) ?? []
  return withPort ?? withPath
}

const slipOfHost = (host: string): string | undefined => {
  const address = canonicalAddress(host.replace(/^\[|\]$/g, ""))
  if (address !== undefined) return `is not a host name. Write ${address}.`
  if (host.startsWith("*.")) return `is not a host name. Write ${host}.`
  const [, name] = /^([^:/]+):\d{0,5}$/.exec(host) ?? []
  return name === undefined ? undefined : `is not a host name. Write ${hostPrefix}${name}, without a port.`
}

/** How to write a host as an entry. */
const entryOf = (host: string): string => {
  const bare = host.replace(/^\[|\]$/g, "")
  return bare.includes(".") || bare.includes(":") ? bare : `${hostPrefix}${bare}`
}

/** A name without a dot is more often a misspelled keyword than a host, so a host needs a prefix. */
const whyNotKeyword = (entry: string): string => {
  const near = entry === "localhost" ? "loopback" : nearName(entry, keywords)
  const hint = near === undefined ? "" : ` Did you mean ${near}?`
  const host = hostName.test(domainToASCII(entry)) ? ` If it is a host, write ${hostPrefix}${entry}.` : ""
  return `is not a keyword (${keywords.join(", ")}), an address, a range, or a host name with a dot.${hint}${host}`
}

/** The last label must not be a number, because such a host is a form of an address. */
const hostName = /^(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z_](?:[a-z0-9_-]*[a-z0-9_])?$/

/** Only global unicast addresses of IPv6 are routed on the public internet. */
const globalUnicast = new BlockList()
globalUnicast.addSubnet("2000::", 3, "ipv6")

/** Reserved ranges, which are not on the public internet. */
const setAside = new BlockList()
for (const [base, prefix] of [
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
] as const) {
  setAside.addSubnet(base, prefix, "ipv4")
}
for (const [base, prefix] of [
  ["2001::", 23], // protocol assignments, Teredo (2001::/32) among them
  ["2001:db8::", 32], // documentation
  ["2002::", 16], // 6to4, which leads to any IPv4 address
  ["3fff::", 20], // documentation
] as const) {
  setAside.addSubnet(base, prefix, "ipv6")
}

const isPublic = (address: string, family: Family): boolean =>
  (family === "ipv4" || globalUnicast.check(address, family)) && !setAside.check(address, family)

const localSubnets = {
  private: [
    ["10.0.0.0", 8],
    ["172.16.0.0", 12],
    ["192.168.0.0", 16],
    ["fc00::", 7],
  ],
  loopback: [
    ["127.0.0.0", 8],
    ["::1", 128],
  ],
} as const

const localKeywords = ["private", "loopback"] as const

const listOf = (subnets: ReadonlyArray<readonly [string, number]>) => {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const [base, prefix] of subnets) {
    const family = isIPv4(base) ? "ipv4" : "ipv6"
    lists[family].addSubnet(base, prefix, family)
  }
  return { check: (address: string, family: Family) => lists[family].check(address, family) }
}

const localRanges = { private: listOf(localSubnets.private), loopback: listOf(localSubnets.loopback) }

const neverAllowed = [
  {
    what: "a link-local address. The metadata service of a cloud uses such addresses",
    ranges: listOf([
      ["169.254.0.0", 16],
      ["fe80::", 10],
    ]),
  },
  {
    what: "an unspecified address",
    ranges: listOf([
      ["0.0.0.0", 8],
      ["::", 128],
    ]),
  },
  {
    what: "a multicast or broadcast address",
    ranges: listOf([
      ["224.0.0.0", 4],
      ["255.255.255.255", 32],
      ["ff00::", 8],
    ]),
  },
]
