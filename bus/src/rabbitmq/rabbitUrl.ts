// The URL of a RabbitMQ server or cluster: amqp://user:password@host,host/vhost. It is parsed here instead of with
// `URL`, because it may name several hosts, and because an error must not repeat the credentials in it.
import { isIPv6 } from "node:net"

export interface RabbitHost {
  readonly host: string
  readonly port: number
}

export interface RabbitAddress {
  readonly hosts: ReadonlyArray<RabbitHost>
  readonly auth?: { readonly user: string; readonly password: string }
  readonly vhost: string
  readonly isTls: boolean
}

/** Either the address, or what is wrong and how to fix it. The text follows the name of a setting. */
export type ParsedRabbitUrl = { readonly value: RabbitAddress } | { readonly problem: string }

const encrypted = "amqps://"

/** `amqps://` requires encryption. */
export const rabbitSchemes = ["amqp://", encrypted]

/** The address, or what is wrong with the URL and how to fix it. The text never quotes the URL. */
export const parseRabbitUrl = (url: string): ParsedRabbitUrl => {
  const { isTls, credentials, hosts, path } = partsOf(url)
  const auth = credentials === undefined ? undefined : parseCredentials(credentials)
  if (typeof auth === "string") return { problem: auth }
  const parsed = parseHosts(hosts, isTls)
  if (typeof parsed === "string") return { problem: parsed }
  const vhost = parseVhost(path)
  if (vhost === undefined) return { problem: vhostProblem }
  return { value: { hosts: parsed, vhost, isTls, ...(auth === undefined ? {} : { auth }) } }
}

/**
 * The URL for logs and messages, without anything that could be a credential. Text that is not a list of addresses, or
 * not a virtual host, is left out as well, because it could be a part of a password.
 */
export const rabbitUrlShown = (url: string): string => {
  const { scheme, isTls, credentials, hosts, path } = partsOf(url)
  const isSound = typeof parseHosts(hosts, isTls) !== "string" && parseVhost(path) !== undefined
  return `${scheme}${credentials === undefined ? "" : "…@"}${isSound ? `${hosts}${path}` : "…"}`
}

interface UrlParts {
  readonly scheme: string
  readonly isTls: boolean
  readonly credentials?: string
  readonly hosts: string
  /** Empty, or the text from the slash on. */
  readonly path: string
}

/** Splits at the last @, because neither a host nor an encoded virtual host can contain one. */
const partsOf = (url: string): UrlParts => {
  const scheme = rabbitSchemes.find((one) => url.startsWith(one)) ?? ""
  const rest = url.slice(scheme.length)
  const at = rest.lastIndexOf("@")
  const place = rest.slice(at + 1)
  const slash = place.indexOf("/")
  return {
    scheme,
    isTls: scheme === encrypted,
    ...(at < 0 ? {} : { credentials: rest.slice(0, at) }),
    hosts: slash < 0 ? place : place.slice(0, slash),
    path: slash < 0 ? "" : place.slice(slash),
  }
}

const parseCredentials = (text: string): { readonly user: string; readonly password: string } | string => {
  // Unencoded, these characters could also begin another part of the URL.
  if (/[@/?#,\s]/.test(text)) {
    return "must percent-encode @ / ? # , and spaces in its user and password (as %40 %2F %3F %23 %2C %20), and must have credentials only before the first host"
  }
  const [, first = "", second] = /^([^:]*)(?::(.*))?$/.exec(text) ?? []
  const [user, password] = [percentDecoded(first), percentDecoded(second ?? "")]
  if (user === undefined || password === undefined) {
    return "must percent-encode its user and password: write a % itself as %25"
  }
  if (user === "" || password === "") return "must name user:password before the @, or leave the @ out"
  return { user, password }
}

const vhostProblem =
  "must have at most one / after the hosts, and after it the name of a virtual host in percent encoding, such as amqp://host/orders; a / in the name is %2F"

const vhostBytes = 255

/** The default virtual host of a RabbitMQ server is called "/". */
const parseVhost = (path: string): string | undefined => {
  if (path === "" || path === "/") return "/"
  const text = path.slice(1)
  const vhost = /[/?#\s]/.test(text) ? undefined : percentDecoded(text)
  return vhost === undefined || Buffer.byteLength(vhost) > vhostBytes ? undefined : vhost
}

const percentDecoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const hostsMax = 16
const plainPort = 5672
const encryptedPort = 5671

const parseHosts = (hosts: string, isTls: boolean): ReadonlyArray<RabbitHost> | string => {
  const texts = hosts.split(",")
  if (texts.length > hostsMax) return `must name at most ${hostsMax} hosts`
  const parsed = texts.map((text) => parseHost(text, isTls ? encryptedPort : plainPort))
  return parsed.every((host) => host !== undefined)
    ? parsed
    : "must name a host or a comma-separated list of hosts, each with an optional port, such as amqp://a:5672,b:5672, and then at most /vhost"
}

const parseHost = (text: string, defaultPort: number): RabbitHost | undefined => {
  const [, name, portText] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? []
  if (name === undefined) return undefined
  const host = name.startsWith("[") ? name.slice(1, -1) : name
  const isHost = name.startsWith("[") ? isIPv6(host) : /^[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$/.test(host)
  const port = portText === undefined ? defaultPort : Number(portText)
  return isHost && port >= 1 && port <= 65_535 ? { host, port } : undefined
}
