// The spans of calls that create or change timers. A span continues the trace of the request, and the timers that the call
// creates keep it as their origin.
import { isReading } from "@punctual/api/CallTerms"
import type { ContractEndpoint } from "@punctual/api/contractEndpoints"
import { traceparentOfHeader } from "@punctual/api/Traceparent"
import type { HttpAnswer } from "@punctual/http/HttpAnswer"
import type { HttpRequest } from "@punctual/http/HttpRequest"
import { spanContextOf } from "@punctual/telemetry/SpanContext"
import type { TelemetryAttributes } from "@punctual/telemetry/TelemetryRecords"
import type { Span, Tracing } from "@punctual/telemetry/Tracing"

/** `undefined` if calls of the endpoint have no spans. */
export const callSpansOf = (
  tracing: Tracing["Service"] | undefined,
  { group, path, action }: Pick<ContractEndpoint, "group" | "path" | "action">,
): CallSpans | undefined =>
  tracing === undefined || !tracedGroups.has(group) || isReading(action)
    ? undefined
    : new CallSpans(tracing, path)

const tracedGroups: ReadonlySet<string> = new Set(["timers", "bulk"])

export class CallSpans {
  readonly #tracing: Tracing["Service"]
  readonly #route: string

  constructor(tracing: Tracing["Service"], route: string) {
    this.#tracing = tracing
    this.#route = route
  }

  /** `undefined` if the call is not recorded. */
  begin({ headers, method }: HttpRequest): CallSpan | undefined {
    const header = headers.get("traceparent")
    const callers = header === null ? undefined : traceparentOfHeader(header)
    const parent = callers === undefined ? undefined : spanContextOf(callers)
    const span = this.#tracing.begin({ parent })
    return span && new CallSpan(span, method, this.#route)
  }
}

export class CallSpan {
  readonly #span: Span
  readonly #method: string
  readonly #route: string
  #about: TelemetryAttributes = {}

  constructor(span: Span, method: string, route: string) {
    this.#span = span
    this.#method = method
    this.#route = route
  }

  /** What the timers of the call keep. */
  get traceparent(): string {
    return this.#span.traceparent
  }

  /** The decoded request. Only its ids are exported, never its payload or its URLs. */
  about(body: unknown): void {
    if (typeof body !== "object" || body === null) return
    this.#about = {
      "punctual.namespace": "namespace" in body ? textOf(body.namespace) : undefined,
      "punctual.timer.id": "timerId" in body ? textOf(body.timerId) : undefined,
      "punctual.timers": "timers" in body && Array.isArray(body.timers) ? body.timers.length : undefined,
    }
  }

  readonly answered = ({ status }: Pick<HttpAnswer, "status">): void => {
    const error = status >= failedStatus ? String(status) : undefined
    this.#span.end({
      name: `${this.#method} ${this.#route}`,
      kind: "server",
      attributes: {
        "http.request.method": this.#method,
        "http.route": this.#route,
        "http.response.status_code": status,
        ...this.#about,
        "error.type": error,
      },
      error,
    })
  }

  /** The call was not answered. */
  readonly broken = (): void => this.answered({ status: failedStatus })
}

/** A refused request is no failure of the service. */
const failedStatus = 500

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)
