// The deliveries of webhooks without an answer.
import { formatDuration } from "@punctual/api/DurationMs"
import { literalAddress } from "@punctual/egress/earlyRefusal"
import type { HttpUrl } from "@punctual/egress/HttpUrls"
import { LookupTimeout } from "@punctual/egress/Resolver"
import type { EgressRefusal } from "../../domain/Delivery.ts"
import { networkTexts, timeoutTexts } from "../../domain/errorClassOf.ts"
import type { Attempted } from "../../ports/Deliverer.ts"

/** The errors of a connection that was not made. A machine without IPv6 reports some of them for IPv6 addresses. */
export const unconnectedCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "EADDRNOTAVAIL",
  "EAFNOSUPPORT",
  "EINVAL",
])

export const invalidTarget: Attempted = {
  kind: "dead",
  reason: "invalidTarget",
  error: "the target is not an http or https URL",
}

export const notSigned: Attempted = {
  kind: "retry",
  error:
    "not sent: the webhook secrets of the namespace cannot be opened, because the key that sealed them is missing: set TIMER_SECRET_KEY, or restore the key file beside the store",
  isHostFailure: true,
}

/** Callers see this text, so it does not show an address that a lookup found. */
export const egressRefused = ({ url }: HttpUrl): EgressRefusal => {
  const literal = literalAddress(url.hostname)
  const refused = literal ?? `the address of ${url.hostname}`
  return { kind: "egressRefused", detail: short(`TIMER_EGRESS does not allow ${refused}`) }
}

export const timedOut = ({ host }: HttpUrl, timeoutMs: number): Attempted => ({
  kind: "retry",
  error: short(`${timeoutTexts.webhook} ${host} within ${formatDuration(timeoutMs)}`),
  isHostFailure: true,
})

/** The error has only host and code: messages of the runtime contain the URL, which may contain secrets. */
export const networkFailure = ({ host, url }: HttpUrl, error: unknown): Attempted => {
  if (error instanceof LookupTimeout) {
    const text = short(`${timeoutTexts.lookup} ${url.hostname}: ${error.message}`)
    return { kind: "retry", error: text, isHostFailure: error.hasStarted }
  }
  const code = networkCodeOf(error)
  const text = nameServerTimeouts.includes(code)
    ? `${timeoutTexts.lookup} ${url.hostname}: the name servers did not answer`
    : `${meaningOf(code)}: ${host}`
  return { kind: "retry", error: short(text), isHostFailure: true }
}

const nameServerTimeouts = ["DNS_ETIMEOUT", "ETIMEOUT"]

const meaningOf = (code: string): string => {
  switch (code) {
    case "ECONNREFUSED":
      return networkTexts.refused
    case "ECONNRESET":
      return networkTexts.closed
    case "ENOTFOUND":
    case "DNS_ENOTFOUND":
    case "DNS_ENODATA":
      return networkTexts.notFound
    default:
      return `${networkTexts.other} ${code}`
  }
}

export const networkCodeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "unknown"

const maxErrorChars = 200

const short = (text: string): string =>
  text.length <= maxErrorChars ? text : `${text.slice(0, maxErrorChars - 1)}…`
