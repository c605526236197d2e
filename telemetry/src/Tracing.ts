// Begins and ends spans. A span that the sampler leaves out is `undefined`, so it costs nothing after its decision. The
// times are real, also if the product runs on a manual clock, because they are shown beside the spans of other systems.
import { Context } from "effect"
import { type Sampler, samplerOf } from "./Sampler.ts"
import { randomTraceIds, type SpanContext, type TraceIds, traceparentText } from "./SpanContext.ts"
import type { EndedSpan, SpanKind, TelemetryAttributes } from "./TelemetryRecords.ts"

export interface TracingOptions {
  readonly sampler: Sampler
  readonly ids: TraceIds
  readonly onEnd: (span: EndedSpan) => void
  /** The time of day. */
  readonly nowMs: () => number
  /** Measures durations, to parts of a millisecond. */
  readonly elapsedMs: () => number
}

export interface SpanStart {
  /** The span that this one continues. */
  readonly parent?: SpanContext | undefined
  /** The trace of a span without a parent. By default it is a new one. */
  readonly traceId?: string
  /** Another span that caused this one. */
  readonly link?: SpanContext | undefined
}

export interface SpanEnd {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: TelemetryAttributes
  readonly error?: string | undefined
}

/** Present if spans are exported. */
export class Tracing extends Context.Service<
  Tracing,
  {
    /** `undefined` if the sampler leaves the span out. */
    begin(start: SpanStart): Span | undefined
    /** A `traceparent` for a span that is left out, so that receivers leave their spans out, too. */
    leftOut(traceId: string): string
  }
>()("punctual/telemetry/Tracing") {}

export class Span {
  readonly context: SpanContext
  readonly #start: SpanStart
  readonly #options: TracingOptions
  readonly #startMs: number
  readonly #startedAt: number

  constructor(options: TracingOptions, context: SpanContext, start: SpanStart) {
    this.context = context
    this.#options = options
    this.#start = start
    this.#startMs = options.nowMs()
    this.#startedAt = options.elapsedMs()
  }

  /** What a request in this span sends. */
  get traceparent(): string {
    return traceparentText(this.context)
  }

  end({ name, kind, attributes, error }: SpanEnd): void {
    const { onEnd, elapsedMs } = this.#options
    const startMicros = this.#startMs * 1_000
    const { parent, link } = this.#start
    onEnd({
      context: this.context,
      parent,
      link,
      name,
      kind,
      startMicros,
      endMicros: startMicros + Math.max(0, Math.round((elapsedMs() - this.#startedAt) * 1_000)),
      attributes,
      error,
    })
  }
}

export const makeTracing = (options: TracingOptions): Tracing["Service"] => ({
  begin: (start) => {
    const traceId = start.parent?.traceId ?? start.traceId ?? options.ids.traceId()
    if (!options.sampler(start.parent, traceId)) return undefined
    return new Span(options, { traceId, spanId: options.ids.spanId(), isSampled: true }, start)
  },
  leftOut: (traceId) => traceparentText({ traceId, spanId: options.ids.spanId(), isSampled: false }),
})

/** Everything that a tracing needs besides its sampler and the place where spans go. */
export const systemTracing = (
  sampler: Parameters<typeof samplerOf>[0],
  onEnd: TracingOptions["onEnd"],
): Tracing["Service"] =>
  makeTracing({
    sampler: samplerOf(sampler),
    ids: randomTraceIds(),
    onEnd,
    nowMs: () => Date.now(),
    elapsedMs: () => performance.now(),
  })
