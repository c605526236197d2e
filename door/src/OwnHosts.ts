/**
 * Which hosts are the service itself. A page on the internet can make a name of its own lead to this machine ("DNS
 * rebinding"). Its requests then look like requests of the service's own pages, and only the name gives them away. So a
 * service that only this machine can reach accepts only names that mean this machine, and names that an operator wrote
 * down.
 */
import { type HostAndPort, hostAndPort, isLoopbackHost, usualPort } from "./hostAndPort.ts"

export interface OwnHostsOptions {
  /** Whether the service listens on a loopback address. Otherwise it accepts every name. */
  readonly isOnLoopback: boolean
  /** Further hosts of the service. */
  readonly hosts: ReadonlyArray<HostAndPort>
}

export class OwnHosts {
  readonly #options: OwnHostsOptions
  /** Most requests name the same host as the request before. */
  #lastAccepted: string | null = null

  constructor(options: OwnHostsOptions) {
    this.#options = options
  }

  /** Whether a request may name this host. Only clients that are no browsers leave it out. */
  accepts(hostHeader: string | null): boolean {
    if (hostHeader === this.#lastAccepted) return true
    if (this.#options.isOnLoopback && hostHeader !== null && hostHeader !== "") {
      const host = hostAndPort(hostHeader)
      if (host === undefined || !(isLoopbackHost(host.name) || this.#isListed(host))) return false
    }
    this.#lastAccepted = hostHeader
    return true
  }

  /**
   * Whether an origin such as `https://timers.example.com` is one of these hosts, or one of the hosts that the request
   * names. The scheme does not count, because TLS may end at a proxy.
   */
  includes(origin: string, ofRequest: ReadonlyArray<string | null | undefined>): boolean {
    const [, scheme = "", text = ""] = /^(https?):\/\/(.+)$/.exec(origin) ?? []
    const own = hostAndPort(text)
    if (own === undefined) return false
    const ofScheme = usualPort(scheme === "https")
    const port = own.port ?? ofScheme
    const isSame = (other: HostAndPort | undefined): boolean =>
      other?.name === own.name && (other.port ?? ofScheme) === port
    return (
      ofRequest.some((host) => typeof host === "string" && isSame(hostAndPort(host))) ||
      this.#options.hosts.some(isSame)
    )
  }

  /** A host without a port is written down for all ports. */
  #isListed(host: HostAndPort): boolean {
    return this.#options.hosts.some(
      ({ name, port }) => name === host.name && (port === undefined || port === host.port),
    )
  }
}
