// The identity of a node among nodes that share a store: its name, its address and the shared secret. Error texts never
// repeat the secret.
import { isIPv6 } from "node:net"
import type { Parsed } from "../ports/Adapter.ts"

/** The address at which other nodes reach this one. Without a port, the port that the node listens on is used. */
export interface NodeAddress {
  readonly host: string
  readonly port?: number
}

export const parseNodeAddress = (text: string): Parsed<NodeAddress> => {
  const [, host = "", portText] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  const port = portText === undefined ? undefined : Number(portText)
  if (!isHost(host) || port === 0 || (port ?? 1) > 65_535) {
    return {
      problem: "must be host:port or a host, at which other nodes reach this one, such as 10.0.0.11:8080",
    }
  }
  const bare = host.replace(/^\[|\]$/g, "")
  if (isUnspecified(bare)) {
    return {
      problem:
        "must be an address that other nodes can connect to, such as 10.0.0.11:8080: this address means any interface",
    }
  }
  return { value: { host: bare, ...(port === undefined ? {} : { port }) } }
}

const isHost = (host: string): boolean =>
  host.startsWith("[") ? isIPv6(host.slice(1, -1)) : /^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/.test(host)

const unspecified = new Set(["0.0.0.0", "[::]", "[::ffff:0:0]"])

/** Whether the host is an address to listen on but not to connect to, such as 0.0.0.0, in any notation. */
export const isUnspecified = (host: string): boolean => {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}`
  return URL.canParse(url) && unspecified.has(new URL(url).hostname)
}

/** The URL under which other nodes call it. It has the scheme that the node itself speaks. */
export const nodeUrl = (
  address: NodeAddress,
  listening: { readonly port: number; readonly url: string },
): string => {
  const { host, port = listening.port } = address
  return `${new URL(listening.url).protocol}//${isIPv6(host) ? `[${host}]` : host}:${port}`
}

const secretCharsMin = 16

/** The secret is sent in a header, which only takes visible characters. */
export const parseClusterSecret = (secret: string): Parsed<string> =>
  /^[\x21-\x7e]+$/.test(secret) && secret.length >= secretCharsMin && secret.length <= 512
    ? { value: secret }
    : {
        problem: `must have at least ${secretCharsMin} letters, digits or symbols, without spaces: create one with ${makeSecret}`,
      }

export const makeSecret = "openssl rand -hex 32"

export const parseNodeName = (name: string): Parsed<string> =>
  /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/.test(name)
    ? { value: name }
    : { problem: "must be 1 to 100 of A-Z, a-z, 0-9 and . _ : -, and must begin with a letter or a digit" }
