// The store that TIMER_STORE_URL names, and what belongs to one that several nodes share: the name and address of this
// node, and the secret among them. What is wrong with any of it is said without repeating credentials.
import { isIPv6 } from "node:net"

export type StoreChoice =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "postgres"; readonly url: string }
  | { readonly kind: "memory" }

type Parsed<A> = { readonly value: A } | { readonly problem: string }

const postgresScheme = /^postgres(?:ql)?:\/\//

export const parseStoreUrl = (url: string): Parsed<StoreChoice> => {
  if (url === "memory:") return { value: { kind: "memory" } }
  if (url.startsWith("sqlite:")) {
    const path = url.slice("sqlite:".length).replace(/^\/\//, "")
    if (path === "" || path === ":memory:") {
      return { problem: "must name a file, such as sqlite:./data/punctual.db (memory: keeps nothing)" }
    }
    return { value: { kind: "sqlite", path } }
  }
  if (postgresScheme.test(url)) return postgresUrl(url.replace(postgresScheme, "postgres://"))
  return { problem: "must begin with sqlite: or postgres://, or be memory:" }
}

const postgresUrl = (url: string): Parsed<StoreChoice> => {
  const rest = url.slice("postgres://".length)
  // No host has an @ in it, nor a password one of these unless it is encoded.
  if (/[@#?/\s].*@/s.test(rest)) {
    return {
      problem:
        "must have @ / ? # and spaces in its user and password percent-encoded (%40 %2F %3F %23 %20), as in postgres://user:password@host:5432/database",
    }
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isWhole = parsed !== undefined && parsed.hostname !== "" && /^\/[^/]+$/.test(parsed.pathname)
  if (!isWhole || !isDecodable(parsed.username + parsed.password + parsed.pathname)) {
    return { problem: "must name a host and a database, as in postgres://user:password@host:5432/database" }
  }
  return { value: { kind: "postgres", url } }
}

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * For logs and messages. Hidden is all before the last @, because a password that was not encoded may have an @ or a /
 * in it; of a query all but the schema, because the driver takes a password there, too; and whatever does not read as
 * host, port and database, for it may be a password whose @ was forgotten.
 */
export const storeUrlShown = (url: string): string => {
  if (url.startsWith("sqlite:") || url === "memory:") return url
  const [scheme = ""] = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.exec(url) ?? []
  const rest = url.slice(scheme.length)
  const at = rest.lastIndexOf("@")
  const [place = "", query = ""] = rest.slice(at + 1).split(/\?(.*)/s)
  const schema = /(?:^|&)schema=([a-z0-9_]+)(?=&|$)/.exec(query)?.[1]
  const shownQuery = query === "" ? "" : schema === undefined ? "?…" : `?schema=${schema}`
  return `${scheme}${at < 0 ? "" : "…@"}${placeShape.test(place) ? place : "…"}${shownQuery}`
}

const placeShape = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(?::\d{1,5})?(?:\/[\w%.-]*)?$/

/** Where other nodes reach this one; without a port, at the one that it listens on. */
export interface NodeAddress {
  readonly host: string
  readonly port?: number
}

export const parseNodeAddress = (text: string): Parsed<NodeAddress> => {
  const [, host = "", portText] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  const port = portText === undefined ? undefined : Number(portText)
  if (!isHost(host) || port === 0 || (port ?? 1) > 65_535) {
    return {
      problem: "must be host:port, or a host alone, as other nodes reach this one, such as 10.0.0.11:8080",
    }
  }
  const bare = host.replace(/^\[|\]$/g, "")
  if (isUnspecified(bare)) {
    return {
      problem:
        "must be an address that other nodes reach this one by, such as 10.0.0.11:8080: this one stands for any address",
    }
  }
  return { value: { host: bare, ...(port === undefined ? {} : { port }) } }
}

const isHost = (host: string): boolean =>
  host.startsWith("[") ? isIPv6(host.slice(1, -1)) : /^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/.test(host)

const unspecified = new Set(["0.0.0.0", "[::]", "[::ffff:0:0]"])

/** An address to listen on that nobody can be reached by, in whichever way it is written. */
export const isUnspecified = (host: string): boolean => {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}`
  return URL.canParse(url) && unspecified.has(new URL(url).hostname)
}

/** As other nodes call it. */
export const nodeUrl = (address: NodeAddress, listeningPort: number): string => {
  const { host, port = listeningPort } = address
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`
}

const secretCharsMin = 16

/** It travels in a header, which takes visible characters only. */
export const parseClusterSecret = (secret: string): Parsed<string> =>
  /^[\x21-\x7e]+$/.test(secret) && secret.length >= secretCharsMin && secret.length <= 512
    ? { value: secret }
    : {
        problem: `must have at least ${secretCharsMin} letters, digits or signs, without spaces: make one by ${makeSecret}`,
      }

export const makeSecret = "openssl rand -hex 32"

export const parseNodeName = (name: string): Parsed<string> =>
  /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/.test(name)
    ? { value: name }
    : { problem: "must be 1 to 100 of A-Z, a-z, 0-9 and . _ : -, beginning with a letter or a digit" }
