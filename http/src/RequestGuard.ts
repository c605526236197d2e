// Stands before all routes: refuses requests that must not come in, before their bodies are read, and finds out who is
// behind a trusted proxy. The rules are in the package door.
import { Forbidden } from "@punctual/api/Problem"
import type { AddressRanges } from "@punctual/door/AddressRanges"
import { Perimeter, type PerimeterOptions, type RequestRefusal } from "@punctual/door/Perimeter"
import { TrustedProxies } from "@punctual/door/TrustedProxies"
import { ForwardedRequest } from "./ForwardedRequest.ts"
import type { HttpAnswer } from "./HttpAnswer.ts"
import type { HttpRequest } from "./HttpRequest.ts"
import { problemResponse } from "./problemResponse.ts"
import { settingName } from "./settingName.ts"

export interface RequestGuardOptions extends Omit<PerimeterOptions, "pages" | "settings"> {
  /** Absent if no proxy is trusted. */
  readonly trustedProxies?: AddressRanges
}

interface Guarded {
  readonly handle: (request: HttpRequest) => Promise<HttpAnswer>
  readonly pages: ReadonlySet<string>
  /** The methods of the product's API, for pages of other origins (default GET and POST). */
  readonly methods?: ReadonlyArray<string>
  /** Headers of the product's API that pages of other origins may send, beside the usual ones. */
  readonly headers?: ReadonlyArray<string>
  /** For the names of settings in refusals. */
  readonly namePrefix: string
  readonly onRefused: (reason: RequestRefusal["reason"]) => void
}

const settingsOf = (prefix: string) => ({
  hosts: settingName(prefix, "HTTP_HOSTS"),
  corsOrigins: settingName(prefix, "CORS_ORIGINS"),
  trustedProxies: settingName(prefix, "TRUSTED_PROXIES"),
})

export class RequestGuard {
  readonly #perimeter: Perimeter
  readonly #proxies: TrustedProxies | undefined
  readonly #guarded: Guarded

  constructor(options: RequestGuardOptions, guarded: Guarded) {
    const { trustedProxies } = options
    this.#perimeter = new Perimeter({
      ...options,
      pages: guarded.pages,
      settings: settingsOf(guarded.namePrefix),
    })
    this.#proxies = trustedProxies === undefined ? undefined : new TrustedProxies(trustedProxies)
    this.#guarded = guarded
  }

  readonly handle = (request: HttpRequest): Promise<HttpAnswer> => {
    const client = this.#proxies?.clientOf(request.remoteAddress, request.headers)
    const refusal = this.#perimeter.whyRefused(request, client)
    if (refusal !== undefined) {
      this.#guarded.onRefused(refusal.reason)
      return Promise.resolve(problemResponse(new Forbidden({ detail: refusal.detail })))
    }
    const passed = client === undefined ? request : new ForwardedRequest(request, client)
    return this.#perimeter.hasCorsOrigins ? this.#withCors(passed) : this.#guarded.handle(passed)
  }

  /** The answer says which origin may read it, and caches must keep the answers for each origin apart. */
  async #withCors(request: HttpRequest): Promise<HttpAnswer> {
    const origin = this.#perimeter.corsOriginOf(request)
    if (origin === undefined) return withHeaders(await this.#guarded.handle(request), { vary: "origin" })
    const allowed = { vary: "origin", "access-control-allow-origin": origin }
    return request.method === "OPTIONS" && request.headers.get("access-control-request-method") !== null
      ? { status: 204, headers: { ...allowed, ...preflightHeaders(this.#guarded) }, body: "" }
      : withHeaders(await this.#guarded.handle(request), allowed)
  }
}

/** A browser asks before it sends a request for a page of another origin, and may keep the answer for this long. */
const preflightHeaders = ({ methods = ["GET", "POST"], headers = [] }: Guarded) => ({
  "access-control-allow-methods": methods.join(", "),
  "access-control-allow-headers": ["authorization", "content-type", "last-event-id", ...headers].join(", "),
  "access-control-max-age": "600",
})

const withHeaders = (answer: HttpAnswer, headers: HttpAnswer["headers"]): HttpAnswer => ({
  ...answer,
  headers: { ...answer.headers, ...headers },
})
