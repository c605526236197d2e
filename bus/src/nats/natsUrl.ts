// The URL of a NATS server or cluster. It is read here instead of by `URL`, because it may name several hosts, and
// because a problem with it must be said without repeating the credentials in it.
import { isIPv6 } from "node:net"

/** Either the address, or what is wrong and how to fix it, to be read after the name of a setting. */
export type ParsedNatsUrl = { readonly value: NatsAddress } | { readonly problem: string }

/** `tls://` demands encryption. */
export const natsSchemes = ["nats://", "tls://"]

export type NatsAuth = { readonly user: string; readonly password: string } | { readonly token: string }

export interface NatsAddress {
  /** Each is host:port. */
  readonly servers: ReadonlyArray<string>
  readonly auth?: NatsAuth
  readonly isTls: boolean
}

/** The address, or what is wrong with the URL and how to fix it: never with a part of it. */
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
 * For logs and messages: all that may be a credential is left out. So whatever does not read as addresses is left out,
 * too, for it may be a password whose @ was forgotten, or a token in a query.
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

/** At the last @, since no host can have one: a password that was not encoded is still all on its own side. */
const splitAtCredentials = (rest: string): { readonly credentials?: string; readonly hosts: string } => {
  const at = rest.lastIndexOf("@")
  return at < 0 ? { hosts: rest } : { credentials: rest.slice(0, at), hosts: rest.slice(at + 1) }
}

const parseCredentials = (text: string): NatsAuth | string => {
  // Taken as they are, they could as well be a second server with credentials of its own.
  if (/[@/?#,\s]/.test(text)) {
    return "must have @ / ? # , and spaces in its user, password or token percent-encoded (%40 %2F %3F %23 %2C %20), and credentials only before the first host"
  }
  const [, first = "", password] = /^([^:]*)(?::(.*))?$/.exec(text) ?? []
  const [user, decodedPassword] = [percentDecoded(first), percentDecoded(password ?? "")]
  if (user === undefined || decodedPassword === undefined) {
    return "must have its user, password or token percent-encoded: a % itself is written %25"
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
    : "must name a host, or several with commas between them, each with a port or without, such as nats://a:4222,b:4222, and nothing after them"
}

const parseServer = (text: string): string | undefined => {
  const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === undefined || !isHost(host)) return undefined
  const portNumber = port === undefined ? defaultPort : Number(port)
  return portNumber >= 1 && portNumber <= 65_535 ? `${host}:${portNumber}` : undefined
}

const isHost = (host: string): boolean =>
  host.startsWith("[") ? isIPv6(host.slice(1, -1)) : /^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/.test(host)
