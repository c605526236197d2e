/**
 * Which requests may come in at all, before anyone asks who sends them. A browser sends requests to any address that a
 * page names, also to services that only the reader of the page can reach. These rules refuse requests that pages of
 * other sites make, and need no secret for it:
 *
 * - The request must name a host of the service (OwnHosts.ts).
 * - Its origin must be a host of the service, or must be listed (CORS).
 * - If the browser says that another site made the request, the request must follow a link to a page.
 */
import { OwnHosts, type OwnHostsOptions } from "./OwnHosts.ts"
import type { ForwardedClient, HeaderSource } from "./TrustedProxies.ts"

export interface PerimeterOptions extends OwnHostsOptions {
  /** Pages with these origins may call the service from browsers. */
  readonly corsOrigins: ReadonlyArray<string>
  /** The paths of pages that other sites may link to. */
  readonly pages: ReadonlySet<string>
  /** The names of the settings, for refusals. */
  readonly settings: {
    readonly hosts: string
    readonly corsOrigins: string
    readonly trustedProxies: string
  }
}

export interface ArrivingRequest {
  readonly method: string
  readonly path: string
  readonly headers: HeaderSource
}

export interface RequestRefusal {
  readonly reason: "host" | "origin"
  /** Names what the service saw, and the setting that helps. */
  readonly detail: string
}

export class Perimeter {
  readonly #own: OwnHosts
  readonly #corsOrigins: ReadonlySet<string>
  readonly #pages: ReadonlySet<string>
  readonly #settings: PerimeterOptions["settings"]

  constructor(options: PerimeterOptions) {
    this.#own = new OwnHosts(options)
    this.#corsOrigins = new Set(options.corsOrigins)
    this.#pages = options.pages
    this.#settings = options.settings
  }

  /** Whether any answer depends on the origin of the request. */
  get hasCorsOrigins(): boolean {
    return this.#corsOrigins.size > 0
  }

  /** The origin of the request, if its pages may call the service. */
  corsOriginOf({ headers }: ArrivingRequest): string | undefined {
    const origin = this.hasCorsOrigins ? headers.get("origin") : null
    return origin !== null && this.#corsOrigins.has(origin) ? origin : undefined
  }

  /** `undefined` if the request may come in. `client`: what a listed proxy says about the client. */
  whyRefused(request: ArrivingRequest, client: ForwardedClient | undefined): RequestRefusal | undefined {
    const { headers } = request
    const host = headers.get("host")
    if (!this.#own.accepts(host)) return this.#foreignHost(host)
    const origin = headers.get("origin")
    const isCrossSite = headers.get("sec-fetch-site") === "cross-site"
    if (origin === null && !isCrossSite) return undefined
    if (origin !== null && this.#corsOrigins.has(origin)) return undefined
    const isForeign = origin !== null && !this.#own.includes(origin, [host, client?.host])
    if (isForeign) return this.#foreignOrigin(origin, client?.host ?? host)
    if (!isCrossSite || (origin === null && isLink(request) && this.#pages.has(request.path)))
      return undefined
    return this.#otherSite()
  }

  #foreignHost(host: string | null): RequestRefusal {
    return {
      reason: "host",
      detail: `The request is for the host ${shown(host)}, but the service listens on this machine only, and this name may lead to other machines. If it is a name of this service, add it to ${this.#settings.hosts}.`,
    }
  }

  #foreignOrigin(origin: string, host: string | null): RequestRefusal {
    const { hosts, corsOrigins, trustedProxies } = this.#settings
    return {
      reason: "origin",
      detail: `A page of another origin sent this request: the page is from ${shown(origin)}, and the request is for the host ${shown(host)}. If a proxy changes the host, add the host of the page to ${hosts}, or the address of the proxy to ${trustedProxies}. If pages of this origin may call the service, add the origin to ${corsOrigins}.`,
    }
  }

  #otherSite(): RequestRefusal {
    return {
      reason: "origin",
      detail: `A page of another site sent this request (Sec-Fetch-Site: cross-site). If pages of that site may call the service, add their origin to ${this.#settings.corsOrigins}.`,
    }
  }
}

/** The reader follows a link, and the browser shows the answer in place of the other page. */
const isLink = ({ method, headers }: ArrivingRequest): boolean =>
  (method === "GET" || method === "HEAD") &&
  headers.get("sec-fetch-mode") === "navigate" &&
  headers.get("sec-fetch-dest") === "document"

const shownMost = 100

const shown = (text: string | null): string => {
  if (text === null || text === "") return "(none)"
  return text.length <= shownMost ? text : `${text.slice(0, shownMost)}…`
}
