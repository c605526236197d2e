// A tracing that keeps the spans that end, for tests.
import { type SamplerName, samplerOf } from "@punctual/telemetry/Sampler"
import type { EndedSpan } from "@punctual/telemetry/TelemetryRecords"
import { makeTracing, type Tracing } from "@punctual/telemetry/Tracing"

export interface RecordedSpans {
  readonly spans: ReadonlyArray<EndedSpan>
  readonly tracing: Tracing["Service"]
}

/** The ids of spans are 1, 2, 3 …, and new traces are named by the letter f. */
export const recordedSpans = (name: SamplerName = "parentbased_always_on"): RecordedSpans => {
  const spans: Array<EndedSpan> = []
  let ids = 0
  const tracing = makeTracing({
    sampler: samplerOf({ name, ratio: 1 }),
    ids: { traceId: () => "f".repeat(32), spanId: () => (++ids).toString(16).padStart(16, "0") },
    onEnd: (span) => spans.push(span),
    nowMs: () => 1_000,
    elapsedMs: () => 0,
  })
  return { spans, tracing }
}
