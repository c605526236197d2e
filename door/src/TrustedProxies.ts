/**
 * What a proxy says about its client. Anyone can send these headers, so only those of listed proxies count. The address
 * of the client is the last one in `X-Forwarded-For` that is not a listed proxy: each proxy adds the address that it saw,
 * and everything before that is only what the client claims.
 */
import { type AddressRanges, canonicalAddress } from "./AddressRanges.ts"

export interface HeaderSource {
  /** `name` is in lower case. Values of a repeated header are joined with a comma. */
  get(name: string): string | null
}

export interface ForwardedClient {
  readonly address: string
  /** The host that the client asked for, if the proxy says it. */
  readonly host?: string
  /** Whether the client uses TLS, if the proxy says it. */
  readonly isSecure?: boolean
}

export class TrustedProxies {
  readonly #ranges: AddressRanges
  /** Most requests come from the same address as the request before. */
  #lastAddress = ""
  #isLastTrusted = false

  constructor(ranges: AddressRanges) {
    this.#ranges = ranges
  }

  /** `undefined` if the request does not come from a listed proxy. */
  clientOf(remoteAddress: string, headers: HeaderSource): ForwardedClient | undefined {
    if (remoteAddress !== this.#lastAddress) {
      this.#isLastTrusted = this.#isTrusted(canonicalAddress(remoteAddress))
      this.#lastAddress = remoteAddress
    }
    if (!this.#isLastTrusted) return undefined
    const host = lastOf(headers.get("x-forwarded-host"))
    const scheme = lastOf(headers.get("x-forwarded-proto"))?.toLowerCase()
    return {
      address: this.#clientAddress(remoteAddress, headers.get("x-forwarded-for") ?? ""),
      ...(host === undefined ? {} : { host }),
      ...(scheme === undefined ? {} : { isSecure: scheme === "https" }),
    }
  }

  /** If all addresses are listed proxies, or one cannot be read, the address after it is the best that is known. */
  #clientAddress(remoteAddress: string, forwardedFor: string): string {
    let known = remoteAddress
    for (const text of forwardedFor.split(",").reverse()) {
      const address = addressIn(text.trim())
      if (address === undefined) break
      known = address
      if (!this.#isTrusted(address)) break
    }
    return known
  }

  #isTrusted(address: string | undefined): boolean {
    return address !== undefined && this.#ranges.has(address)
  }
}

/** The part that the last proxy wrote. */
const lastOf = (header: string | null): string | undefined => {
  const text = header?.slice(header.lastIndexOf(",") + 1).trim()
  return text === "" ? undefined : text
}

/** Some proxies add the port. */
const addressIn = (text: string): string | undefined => {
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? []
  return canonicalAddress(bracketed ?? dotted ?? text)
}
