// The metrics of requests. The names of metrics begin with the prefix of the product. Labels are route templates and status classes. They are few and fixed, so every labelled
// metric is made once, before the first request.
import type { FailureReason } from "@punctual/door/Gate"
import { type Context, Metric } from "effect"

const statusClasses = ["1xx", "2xx", "3xx", "4xx", "5xx"] as const

const secondsBoundaries = Metric.boundariesFromIterable([
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
])

export interface RouteMetrics {
  answered(status: number, durationMs: number): void
}

/** The metrics of one route. Requests that match no route are counted together as `other`. */
export const routeMetrics = (
  prefix: string,
  route: string,
  context: Context.Context<never>,
): RouteMetrics => {
  const requests = statusClasses.map((statusClass) =>
    Metric.counter(`${prefix}_http_requests_total`, {
      description: "Requests answered, by route and status class.",
      incremental: true,
      attributes: { route, status: statusClass },
    }),
  )
  const durations = Metric.histogram(`${prefix}_http_request_duration_seconds`, {
    description: "The time from the end of a request's headers to its answer, by route.",
    boundaries: secondsBoundaries,
    attributes: { route },
  })
  return {
    answered: (status, durationMs) => {
      requests[Math.floor(status / 100) - 1]?.updateUnsafe(1, context)
      durations.updateUnsafe(durationMs / 1000, context)
    },
  }
}

export interface ConnectionMetrics {
  open(count: number): void
  refused(reason: string): void
  closed(reason: string): void
}

/** A counter for each reason. Reasons are few and fixed. */
export const countedByReason = (
  context: Context.Context<never>,
  name: string,
  description: string,
  reasons: ReadonlyArray<string>,
) => {
  const counters = new Map(
    reasons.map((reason) => [
      reason,
      Metric.counter(name, { description, incremental: true, attributes: { reason } }),
    ]),
  )
  for (const counter of counters.values()) counter.updateUnsafe(0, context)
  return (reason: string) => counters.get(reason)?.updateUnsafe(1, context)
}

export interface AuthMetrics {
  failed(reason: FailureReason): void
}

export const authMetrics = (prefix: string, context: Context.Context<never>): AuthMetrics => ({
  failed: countedByReason(
    context,
    `${prefix}_auth_failures_total`,
    "Requests that were refused because of their key: there was none (missing), it was wrong, expired or revoked, it is from before a restore (unconfirmed), or a session was used from another site (crossSite).",
    ["missing", "wrong", "expired", "revoked", "unconfirmed", "crossSite"],
  ),
})

/** Counts the requests that the guard refuses. */
export const refusalCounter = (prefix: string, context: Context.Context<never>): ((reason: string) => void) =>
  countedByReason(
    context,
    `${prefix}_http_requests_refused_total`,
    "Requests refused with 403 before any call: they name a host that is not one of the service (host), or a page of another site sent them (origin).",
    ["host", "origin"],
  )

/** The metrics of connections. */
export const connectionMetrics = (prefix: string, context: Context.Context<never>): ConnectionMetrics => {
  const open = Metric.gauge(`${prefix}_http_connections`, {
    description: "Open connections of HTTP clients.",
  })
  open.updateUnsafe(0, context)
  return {
    open: (count) => open.updateUnsafe(count, context),
    refused: countedByReason(
      context,
      `${prefix}_http_connections_refused_total`,
      "Connections refused because of a limit: of all connections (total), or of one address (address).",
      ["total", "address"],
    ),
    closed: countedByReason(
      context,
      `${prefix}_http_connections_closed_total`,
      "Connections that the service closed: the handshake of TLS was too slow (securing), no request came (idle), the headers were too slow (arriving), the client did not read (unread), a new connection needed room (room), or too many bytes waited (bytes).",
      ["securing", "idle", "arriving", "unread", "room", "bytes"],
    ),
  }
}
