// The URL of a NATS server or cluster. It is parsed here instead of with `URL`, because it may name several hosts, and
// because an error must not repeat the credentials in it.
import { isIPv6 } from "node:net"

/** Either the address, or what is wrong and how to fix it. The text follows the name of a setting. */
export type ParsedNatsUrl = { readonly value: NatsAddress } | { readonly problem: string }

/** `tls://` requires encryption. */
export const natsSchemes = ["nats://", "tls://"]

export type NatsAuth = { readonly user: string; readonly password: string } | { readonly token: string }

export interface NatsAddress {
  /** Each is host:port. */
  readonly servers: ReadonlyArray<string>
  readonly auth?: NatsAuth
  readonly isTls: boolean
}

/** The address, or what is wrong with the URL and how to fix it. The text never quotes the URL. */
export const parseNatsUrl = (url: string): ParsedNatsUrl => {
  const scheme = schemeOf(url)
  const { credentials, hosts } = splitAtCredentials(url.slice(scheme.length))
  const auth = credentials === undefined ? undefined : parseCredentials(credentials)
  if (typeof auth === "string") return { problem: auth }
  const servers = parseServers(hosts)
  if (typeof servers === "string") return { problem: servers }
  return { value: { servers, isTls: scheme === "tls://", ...(auth === undefined ? {} : { auth }) } }
}

/**
 * The URL for logs and messages, without anything that could be a credential. Text that is not a list of addresses is
 * left out as well, because it could be a password whose @ is missing, or a token in a query.
 */
export const natsUrlShown = (url: string): string => {
  const scheme = schemeOf(url)
  const { credentials, hosts } = splitAtCredentials(url.slice(scheme.length))
  const shown = typeof parseServers(hosts) === "string" ? "…" : hosts
  return `${scheme}${credentials === undefined ? "" : "…@"}${shown}`
}

const schemeOf = (url: string): string => natsSchemes.find((scheme) => url.startsWith(scheme)) ?? ""

const defaultPort = 4222
const serversMax = 16

/**
 * Splits at the last @, because no host can contain one. So an unencoded password stays on the side of the credentials.
 */
const splitAtCredentials = (rest: string): { readonly credentials?: string; readonly hosts: string } => {
  const at = rest.lastIndexOf("@")
  return at < 0 ? { hosts: rest } : { credentials: rest.slice(0, at), hosts: rest.slice(at + 1) }
}

const parseCredentials = (text: string): NatsAuth | string => {
  // Unencoded, these characters could also begin a second server with its own credentials.
  if (/[@/?#,\s]/.test(text)) {
    return "must percent-encode @ / ? # , and spaces in its user, password or token (as %40 %2F %3F %23 %2C %20), and must have credentials only before the first host"
  }
  const [, first = "", password] = /^([^:]*)(?::(.*))?$/.exec(text) ?? []
  const [user, decodedPassword] = [percentDecoded(first), percentDecoded(password ?? "")]
  if (user === undefined || decodedPassword === undefined) {
    return "must percent-encode its user, password or token: write a % itself as %25"
  }
  if (user === "" || (password !== undefined && decodedPassword === "")) {
    return "must name user:password or a token before the @, or leave the @ out"
  }
  return password === undefined ? { token: user } : { user, password: decodedPassword }
}

const percentDecoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const parseServers = (hosts: string): ReadonlyArray<string> | string => {
  const texts = hosts.replace(/\/$/, "").split(",")
  if (texts.length > serversMax) return `must name at most ${serversMax} hosts`
  const servers = texts.map(parseServer)
  return servers.every((server) => server !== undefined)
    ? servers
    : "must name a host or a comma-separated list of hosts, each with an optional port, such as nats://a:4222,b:4222, and nothing after them"
}

const parseServer = (text: string): string | undefined => {
  const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === undefined || !isHost(host)) return undefined
  const portNumber = port === undefined ? defaultPort : Number(port)
  return portNumber >= 1 && portNumber <= 65_535 ? `${host}:${portNumber}` : undefined
}

const isHost = (host: string): boolean =>
  host.startsWith("[") ? isIPv6(host.slice(1, -1)) : /^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/.test(host)
