// Lets the callers of HTTP in: who makes a request, by its headers, and the answer if nobody valid does.
import type { Action } from "@punctual/api/CallTerms"
import { anonymous, type Caller } from "@punctual/door/Caller"
import { forbidden, type Gate, isRefusal, KeyCaller, type Refusal } from "@punctual/door/Gate"
import { expiryNoticeMs } from "@punctual/door/KeyExpiry"
import type { HttpAnswer } from "./HttpAnswer.ts"
import type { AuthMetrics } from "./HttpMetrics.ts"
import { askedPortOf, type HttpRequest } from "./HttpRequest.ts"
import { problemResponse } from "./problemResponse.ts"

export class CallerCheck {
  readonly #gate: Gate
  readonly #metrics: AuthMetrics
  readonly #corsOrigins: ReadonlySet<string>

  /** `corsOrigins`: pages of these origins may call the service, but only with a key. */
  constructor(gate: Gate, metrics: AuthMetrics, corsOrigins: ReadonlyArray<string>) {
    this.#gate = gate
    this.#metrics = metrics
    this.#corsOrigins = new Set(corsOrigins)
  }

  /** The caller, or the reason why there is none. */
  admit(request: HttpRequest): Caller | Refusal {
    if (!this.#gate.isClosed) return anonymous
    const { headers, remoteAddress: address, addressGroup } = request
    return this.#gate.admit({
      authorization: headers.get("authorization"),
      cookie: headers.get("cookie"),
      address,
      addressGroup,
      isSameOrigin: this.#isSameOrigin(request),
      port: () => askedPortOf(request),
    })
  }

  /** The answer to a caller who was not let in. The answers to many wrong keys of one address wait. */
  async refused({ problem, reason, delayMs, addressGroup }: Refusal): Promise<HttpAnswer> {
    this.#metrics.failed(reason)
    await this.#gate.tries.wait(addressGroup, delayMs)
    return problemResponse(problem)
  }

  /** For a call that takes a key in its body: counts a wrong one like a wrong one in a header. */
  async wrongKeyInBody({ addressGroup }: HttpRequest): Promise<void> {
    this.#metrics.failed("wrong")
    const { tries } = this.#gate
    await tries.wait(addressGroup, tries.failed(addressGroup, performance.now()))
  }

  /** The answer to a request that lacks a right on the whole service; `undefined` if it may go on. */
  async whyNot(request: HttpRequest, action: Action): Promise<HttpAnswer | undefined> {
    const admitted = this.admit(request)
    if (isRefusal(admitted)) return this.refused(admitted)
    return admitted.may(action, undefined) ? undefined : problemResponse(forbidden(action, undefined))
  }

  /** Whether the caller is known and has this right on the whole service. */
  may(request: HttpRequest, action: Action): boolean {
    const admitted = this.admit(request)
    return !isRefusal(admitted) && admitted.may(action, undefined)
  }

  /**
   * Whether a page of this service made the request, by what the browser says. Browsers leave `sec-fetch-site` out over
   * plain HTTP beyond localhost. Then the origin decides. The guard (RequestGuard.ts) has refused origins that are neither
   * the service's own nor listed.
   */
  #isSameOrigin({ headers }: HttpRequest): boolean {
    const site = headers.get("sec-fetch-site")
    if (site !== null) return site === "same-origin"
    const origin = headers.get("origin")
    return origin !== null && !this.#corsOrigins.has(origin)
  }
}

/** A header for callers whose key ends soon. */
export const expiryHeaders = (
  caller: Caller,
  nowMs: number,
): Readonly<Record<string, string>> | undefined => {
  const expiresAtMs = caller instanceof KeyCaller ? caller.key.expiresAtMs : undefined
  return expiresAtMs === undefined || expiresAtMs - nowMs > expiryNoticeMs
    ? undefined
    : { "punctual-key-expires": new Date(expiresAtMs).toISOString() }
}
