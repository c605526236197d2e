/** The host in the header `Host`, in an origin, or in a setting. */
import { isIPv4 } from "node:net"
import { canonicalAddress } from "./AddressRanges.ts"

export interface HostAndPort {
  /** In lower case, without a dot at its end. An IPv6 address has no brackets. */
  readonly name: string
  readonly port?: number
}

/** `undefined` if the text is not a host with or without a port. */
export const hostAndPort = (text: string): HostAndPort | undefined => {
  const [, bracketed, plain, portText] = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const name = bracketed === undefined ? nameOf(plain) : canonicalAddress(bracketed)
  const port = portText === undefined ? undefined : Number(portText)
  if (name === undefined || (port ?? 0) > 65_535) return undefined
  return { name, ...(port === undefined ? {} : { port }) }
}

/** The port that browsers leave out. */
export const usualPort = (isSecure: boolean): number => (isSecure ? 443 : 80)

/** Browsers keep the dot at the end of a name, and it leads to the same host. */
const nameOf = (text = ""): string | undefined => {
  const name = text.toLowerCase().replace(/\.$/, "")
  return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name) ? name : undefined
}

/** Whether the host always means this machine: `localhost`, names below it (RFC 6761), and loopback addresses. */
export const isLoopbackHost = (name: string): boolean =>
  /(?:^|\.)localhost$/.test(name) || name === "::1" || (isIPv4(name) && name.startsWith("127."))
