// The URL of a Kafka cluster. It is parsed here instead of with `URL`, because it may name several hosts, and because an
// error must not repeat the credentials in it.
import { parseHosts, percentDecoded, splitAtCredentials } from "../brokerHosts.ts"

/** Either the address, or what is wrong and how to fix it. The text follows the name of a setting. */
export type ParsedKafkaUrl = { readonly value: KafkaAddress } | { readonly problem: string }

/** `kafka+ssl://` requires encryption. */
export const kafkaSchemes = ["kafka://", "kafka+ssl://"]

/** The ways in which a broker can check the user and password, by their names in the URL. */
export const saslMechanisms = {
  plain: "PLAIN",
  "scram-sha-256": "SCRAM-SHA-256",
  "scram-sha-512": "SCRAM-SHA-512",
} as const

export interface KafkaAuth {
  readonly user: string
  readonly password: string
  readonly mechanism: (typeof saslMechanisms)[keyof typeof saslMechanisms]
}

export interface KafkaAddress {
  /** Each is host:port. */
  readonly servers: ReadonlyArray<string>
  readonly auth?: KafkaAuth
  readonly isTls: boolean
}

/** The address, or what is wrong with the URL and how to fix it. The text never quotes the URL. */
export const parseKafkaUrl = (url: string): ParsedKafkaUrl => {
  const { scheme, credentials, hosts, query } = partsOf(url)
  const mechanism = mechanismIn(query)
  if (mechanism === undefined) {
    return {
      problem: `may end in ?sasl=${Object.keys(saslMechanisms).join(" or ?sasl=")}, and in nothing else`,
    }
  }
  const auth = credentials === undefined ? undefined : parseCredentials(credentials, mechanism)
  if (typeof auth === "string") return { problem: auth }
  if (auth === undefined && query !== undefined) {
    return { problem: "must name user:password before the hosts if it names a SASL mechanism" }
  }
  const servers = parseHosts(hosts, hostRule)
  if (typeof servers === "string") return { problem: servers }
  return { value: { servers, isTls: scheme === "kafka+ssl://", ...(auth === undefined ? {} : { auth }) } }
}

/**
 * The URL for logs and messages, without anything that could be a credential. Text that is not a list of addresses is
 * left out as well, because it could be a password whose @ is missing.
 */
export const kafkaUrlShown = (url: string): string => {
  const { scheme, credentials, hosts, query } = partsOf(url)
  const shown = typeof parseHosts(hosts, hostRule) === "string" ? "…" : hosts
  const shownQuery = query === undefined || mechanismIn(query) === undefined ? "" : `?${query}`
  return `${scheme}${credentials === undefined ? "" : "…@"}${shown}${shownQuery}`
}

const hostRule = { defaultPort: 9092, example: "kafka://a:9092,b:9092" }

interface UrlParts {
  readonly scheme: string
  readonly credentials?: string
  readonly hosts: string
  readonly query?: string
}

/** The query begins after the hosts. A ? in the credentials must be percent-encoded. */
const partsOf = (url: string): UrlParts => {
  const scheme = kafkaSchemes.find((known) => url.startsWith(known)) ?? ""
  const { credentials, hosts } = splitAtCredentials(url.slice(scheme.length))
  const [, place = "", query] = /^([^?]*)(?:\?(.*))?$/s.exec(hosts) ?? []
  return {
    scheme,
    hosts: place,
    ...(credentials === undefined ? {} : { credentials }),
    ...(query === undefined ? {} : { query }),
  }
}

/** The default never sends the password over the network. */
const mechanismIn = (query: string | undefined): KafkaAuth["mechanism"] | undefined => {
  if (query === undefined) return saslMechanisms["scram-sha-512"]
  const name = /^sasl=(.*)$/s.exec(query)?.[1]
  return Object.entries(saslMechanisms).find(([known]) => known === name)?.[1]
}

const parseCredentials = (text: string, mechanism: KafkaAuth["mechanism"]): KafkaAuth | string => {
  // Unencoded, these characters could also begin a second server with its own credentials.
  if (/[@/?#,\s]/.test(text)) {
    return "must percent-encode @ / ? # , and spaces in its user and password (as %40 %2F %3F %23 %2C %20), and must have credentials only before the first host"
  }
  const [, first = "", second = ""] = /^([^:]*)(?::(.*))?$/.exec(text) ?? []
  const [user, password] = [percentDecoded(first), percentDecoded(second)]
  if (user === undefined || password === undefined) {
    return "must percent-encode its user and password: write a % itself as %25"
  }
  return user === "" || password === ""
    ? "must name user:password before the @, or leave the @ out"
    : { user, password, mechanism }
}
