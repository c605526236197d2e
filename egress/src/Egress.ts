// The addresses that a product may call for its users. A user chooses a URL that this process calls. On a shared network
// the call could reach what the user cannot: a metadata service, an admin port, a database. The rules judge addresses
// and not names, because a name can lead anywhere. The caller connects to exactly the address that
// was judged, so a name that changes its address between check and connection cannot avoid the rules.
import { domainToASCII } from "node:url"
import { nearName } from "@punctual/api/nearName"
import { AddressRanges, canonicalAddress, parseSubnet } from "@punctual/door/AddressRanges"
import { Result, Schema } from "effect"
import {
  isMetadataAddress,
  isPublicAddress,
  type LocalKeyword,
  localKeywords,
  localRanges,
} from "./addressKinds.ts"

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
 * it resolves to is allowed, except the addresses of metadata services. Only a range or an address allows those.
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

interface NamedRange {
  readonly entry: string
  readonly range: AddressRanges
}

class EgressList implements EgressRules {
  readonly isOpen = false
  #allowsPublic = false
  readonly #ranges: Array<NamedRange> = []
  readonly #keywords = new Set<LocalKeyword>()
  readonly #hosts = new Map<string, string>()
  readonly #suffixes: Array<string> = []

  get allowsLocal(): boolean {
    return this.#ranges.length > 0 || this.#keywords.size > 0
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
      this.#keywords.add(keyword)
      return undefined
    }
    const slip = usualSlip(entry)
    if (slip !== undefined) return slip
    if (entry.startsWith(hostPrefix)) return this.#addHost(entry, entry.slice(hostPrefix.length))
    if (/^[0-9.]+(\/|$)|:|\//.test(entry)) return this.#addRange(entry)
    return entry.includes(".") ? this.#addHost(entry, entry) : whyNotKeyword(entry)
  }

  allows(host: string, address: string): boolean {
    return this.entryFor(host, address) !== undefined
  }

  allowsName(host: string): boolean {
    return this.#entryForName(host) !== undefined
  }

  entryFor(host: string, address: string): string | undefined {
    if (this.#allowsPublic && isPublicAddress(address)) return "public"
    const named = this.#ranges.find(({ range }) => range.has(address))
    if (named !== undefined) return named.entry
    return isMetadataAddress(address) ? undefined : (this.#keywordFor(address) ?? this.#entryForName(host))
  }

  #keywordFor(address: string): LocalKeyword | undefined {
    return this.#keywords.values().find((keyword) => localRanges[keyword].has(address))
  }

  #entryForName(host: string): string | undefined {
    const name = host.endsWith(".") ? host.slice(0, -1) : host
    const suffix = this.#suffixes.find((candidate) => name.endsWith(candidate))
    return this.#hosts.get(name) ?? (suffix === undefined ? undefined : `*${suffix}`)
  }

  #addRange(entry: string): string | undefined {
    const read = parseSubnet(entry)
    if ("problem" in read) return read.problem
    this.#ranges.push({ entry, range: new AddressRanges([read.subnet]) })
    return undefined
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
