// The URL of a NATS server or cluster. It is parsed here instead of with `URL`, because it may name several hosts, and
// because an error must not repeat the credentials in it.
import { parseHosts, percentDecoded, splitAtCredentials } from "../brokerHosts.ts"

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
  const servers = parseHosts(hosts, { defaultPort, example })
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
  const shown = typeof parseHosts(hosts, { defaultPort, example }) === "string" ? "…" : hosts
  return `${scheme}${credentials === undefined ? "" : "…@"}${shown}`
}

const schemeOf = (url: string): string => natsSchemes.find((scheme) => url.startsWith(scheme)) ?? ""

const defaultPort = 4222
const example = "nats://a:4222,b:4222"

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
