// The spans of attempts. An attempt continues the trace of the create, as its webhook always does, and links to the span
// of the create, because that span may have ended days earlier (ADR 0110). Without such a trace, the attempts of an arming
// are a trace of their own, named by its fireId.
import { type SpanContext, spanContextOf } from "@punctual/telemetry/SpanContext"
import type { SpanKind, TelemetryAttributes } from "@punctual/telemetry/TelemetryRecords"
import type { Tracing } from "@punctual/telemetry/Tracing"
import { type Delivery, isAttempted } from "../../domain/Delivery.ts"
import { errorClassOf } from "../../domain/errorClassOf.ts"
import type { Target } from "../../domain/Timer.ts"
import type { Flight } from "./Flight.ts"

export class AttemptSpans {
  readonly #tracing: Tracing["Service"]

  constructor(tracing: Tracing["Service"]) {
    this.#tracing = tracing
  }

  begin(flight: Flight): void {
    const { timer } = flight.entry
    const created = timer.traceparent === undefined ? undefined : spanContextOf(timer.traceparent)
    const traceId = created?.traceId ?? traceIdOf(timer.fireId)
    const span = this.#tracing.begin({ parent: created, traceId, link: created })
    flight.traceparent = span?.traceparent ?? this.#tracing.leftOut(traceId)
    if (span !== undefined) flight.span = span
  }

  /** The attempt has ended, and is settled if it will be. */
  ended(flight: Flight, delivery: Delivery, isTakenBack: boolean): void {
    const { span, entry, attempt, sentAt, settledAs } = flight
    if (span === undefined) return
    const { timer, host } = entry
    const { target } = timer.spec
    const status = "status" in delivery ? delivery.status : undefined
    const outcome = isTakenBack ? "abandoned" : (settledAs ?? delivery.kind)
    const error = errorOf(delivery)
    span.end({
      name: names[target.type],
      kind: kinds[target.type],
      attributes: {
        "punctual.namespace": timer.namespace,
        "punctual.timer.id": timer.timerId,
        "punctual.fire.id": timer.fireId,
        "punctual.revision": timer.revision,
        "punctual.attempt": attempt,
        "punctual.outcome": outcome,
        "punctual.lateness_ms": sentAt === undefined ? undefined : Math.max(0, sentAt - entry.fireAt),
        ...(target.type === "webhook" ? webhookAttributes(target.method, host, status) : {}),
        "error.type": error,
      },
      error,
    })
  }
}

/** The span of an attempt as log lines name it. */
export const loggedSpan = ({ span }: Flight): Pick<SpanContext, "traceId" | "spanId"> | undefined =>
  span && { traceId: span.context.traceId, spanId: span.context.spanId }

const names: { readonly [type in Target["type"]]: string } = {
  webhook: "deliver webhook",
  event: "deliver event",
  handler: "deliver to handler",
}

const kinds: { readonly [type in Target["type"]]: SpanKind } = {
  webhook: "client",
  event: "producer",
  handler: "internal",
}

/** The host without path and query, which may contain secrets. */
const webhookAttributes = (method: string, host = "", status: number | undefined): TelemetryAttributes => {
  const [, address = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? []
  return {
    "http.request.method": method,
    "server.address": address === "" ? undefined : address,
    "server.port": port === undefined ? undefined : Number(port),
    "http.response.status_code": status,
  }
}

/** What failed, by class. The texts of errors may contain what a receiver answered, so they are not exported. */
const errorOf = (delivery: Delivery): string | undefined => {
  if (!isAttempted(delivery)) return delivery.kind === "egressRefused" ? "egressRefused" : undefined
  if (!("error" in delivery)) return undefined
  if (delivery.status !== undefined) return String(delivery.status)
  return errorClassOf(delivery) ?? (delivery.kind === "dead" ? delivery.reason : "other")
}

const traceIdOf = (uuid: string): string => uuid.replaceAll("-", "")
