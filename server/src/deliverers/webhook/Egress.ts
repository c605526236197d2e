// What callbacks may reach. Anyone who may create a timer chooses a URL that this process will call, so
// on a shared network a timer could reach what its creator cannot: a metadata service, an admin port, a
// neighbour's database. The rules judge addresses, not names, because a name says nothing about where it
// leads; and the deliverer connects to the very address that was judged, so that a name which changes its
// mind between the check and the connection gains nothing.
import { BlockList, isIPv4, isIPv6 } from "node:net"
import { domainToASCII } from "node:url"
import { Result, Schema } from "effect"

export interface EgressRules {
  /** Everything may be reached: nothing needs to be looked up first. */
  readonly isOpen: boolean
  /** Whether a callback to `host` may connect to `address`, in its canonical form. */
  allows(host: string, address: string): boolean
}

export class BadEgressEntry extends Schema.TaggedError<BadEgressEntry>()("BadEgressEntry", {
  entry: Schema.String,
  message: Schema.String,
}) {}

/** For a service that only its own machine can ask. */
export const openEgress: EgressRules = { isOpen: true, allows: () => true }

/**
 * Reads `open`, or a list of `public`, CIDR ranges, single addresses, host names and `*.suffix` patterns. A
 * host entry vouches for the name: any address that it resolves to is allowed.
 */
export const parseEgress = (text: string): Result.Result<EgressRules, BadEgressEntry> => {
  const entries = text.split(",").map((entry) => entry.trim().toLowerCase())
  if (entries.length === 1 && entries[0] === "open") return Result.succeed(openEgress)
  const list = new EgressList()
  for (const entry of entries) {
    const wrong = list.add(entry)
    if (wrong !== undefined) {
      return Result.fail(new BadEgressEntry({ entry, message: `TIMER_EGRESS: "${entry}" ${wrong}` }))
    }
  }
  return Result.succeed(list)
}

/**
 * One spelling for each address: IPv6 compressed and in lower case, IPv4-mapped IPv6 as the IPv4 address
 * that a connection to it reaches. Nothing for what is no address, or carries a zone.
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

class EgressList implements EgressRules {
  readonly isOpen = false
  #allowsPublic = false
  // One list a family: a list of both lets IPv6 ranges judge IPv4 addresses by their mapped form.
  readonly #ranges = { ipv4: new BlockList(), ipv6: new BlockList() }
  readonly #hosts = new Set<string>()
  readonly #suffixes: Array<string> = []

  /** Says what is wrong with the entry, or nothing when it was taken. */
  add(entry: string): string | undefined {
    if (entry === "") return 'is an empty entry: use "open", or a list such as "public,10.0.0.0/8,*.internal"'
    if (entry === "open" || entry === "*") return "allows everything and must stand alone, as open"
    if (entry === "public") {
      this.#allowsPublic = true
      return undefined
    }
    return /^[0-9.]+(\/|$)|:|\//.test(entry) ? this.#addRange(entry) : this.#addHost(entry)
  }

  allows(host: string, address: string): boolean {
    const family = isIPv4(address) ? "ipv4" : "ipv6"
    if (this.#allowsPublic && isPublic(address, family)) return true
    return this.#ranges[family].check(address, family) || this.#allowsHost(host)
  }

  #allowsHost(host: string): boolean {
    const name = host.endsWith(".") ? host.slice(0, -1) : host
    return this.#hosts.has(name) || this.#suffixes.some((suffix) => name.endsWith(suffix))
  }

  #addRange(entry: string): string | undefined {
    const [base = "", prefixText, ...rest] = entry.split("/")
    const address = canonicalAddress(base)
    if (address === undefined || rest.length > 0) {
      return "is neither an address, nor a range such as 10.0.0.0/8 or fd00::/8, nor a host name (without port)"
    }
    if (isIPv4(address) !== isIPv4(base)) return "is a mapped address: write it as IPv4, as it is judged"
    const [family, bits] = isIPv4(address) ? (["ipv4", 32] as const) : (["ipv6", 128] as const)
    const prefix = prefixText === undefined ? bits : /^\d{1,3}$/.test(prefixText) ? Number(prefixText) : -1
    if (prefix < 0 || prefix > bits) return `needs a prefix length from 0 to ${bits}`
    this.#ranges[family].addSubnet(address, prefix, family)
    return undefined
  }

  #addHost(entry: string): string | undefined {
    const isSuffix = entry.startsWith("*.")
    const name = domainToASCII(isSuffix ? entry.slice(2) : entry)
    if (!hostName.test(name)) return "is no host name; patterns have the form *.internal"
    if (isSuffix) this.#suffixes.push(`.${name}`)
    else this.#hosts.add(name)
    return undefined
  }
}

/** The last label is not a number: such a host would be an address in disguise. */
const hostName = /^(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z_](?:[a-z0-9_-]*[a-z0-9_])?$/

/** Global unicast is the only IPv6 space that the public network routes. */
const globalUnicast = new BlockList()
globalUnicast.addSubnet("2000::", 3, "ipv6")

/** What the registries set aside, so that it is not somewhere on the public network. */
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

const isPublic = (address: string, family: "ipv4" | "ipv6"): boolean =>
  (family === "ipv4" || globalUnicast.check(address, family)) && !setAside.check(address, family)
