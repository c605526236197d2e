// The parts that URLs of brokers have in common: credentials before the last @, then one or more hosts with ports.
import { isIPv6 } from "node:net"

const hostsMax = 16

/**
 * Splits at the last @, because no host can contain one. So an unencoded password stays on the side of the credentials.
 */
export const splitAtCredentials = (
  rest: string,
): { readonly credentials?: string; readonly hosts: string } => {
  const at = rest.lastIndexOf("@")
  return at < 0 ? { hosts: rest } : { credentials: rest.slice(0, at), hosts: rest.slice(at + 1) }
}

/** `undefined` if the text is not percent-encoded correctly. */
export const percentDecoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Each host as `host:port`, or what is wrong with the list. */
export const parseHosts = (
  hosts: string,
  { defaultPort, example }: { readonly defaultPort: number; readonly example: string },
): ReadonlyArray<string> | string => {
  const texts = hosts.replace(/\/$/, "").split(",")
  if (texts.length > hostsMax) return `must name at most ${hostsMax} hosts`
  const parsed = texts.map((text) => parseHost(text, defaultPort))
  return parsed.every((host) => host !== undefined)
    ? parsed
    : `must name a host or a comma-separated list of hosts, each with an optional port, such as ${example}, and nothing after them`
}

const parseHost = (text: string, defaultPort: number): string | undefined => {
  const [, host, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (host === undefined || !isHost(host)) return undefined
  const portNumber = port === undefined ? defaultPort : Number(port)
  return portNumber >= 1 && portNumber <= 65_535 ? `${host}:${portNumber}` : undefined
}

const isHost = (host: string): boolean =>
  host.startsWith("[") ? isIPv6(host.slice(1, -1)) : /^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/.test(host)
