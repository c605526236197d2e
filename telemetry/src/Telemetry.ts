// The traces and logs of one process: takes spans and log lines, and exports them while the program runs. It is made
// before the program starts, because the logger needs it, and it flushes after the program has ended, because its last
// log lines count, too.
import { Console, Context, Effect, Metric } from "effect"
import { type DropReason, dropReasons, Exporter, type ExporterMetrics } from "./Exporter.ts"
import type { OtlpEncoding, OtlpSignal } from "./OtlpEncoding.ts"
import { otlpJson } from "./otlpJson.ts"
import { otlpProtobuf } from "./otlpProtobuf.ts"
import { postBatch } from "./postBatch.ts"
import type { LogRecord, TelemetryAttributes } from "./TelemetryRecords.ts"
import { systemTracing, type Tracing } from "./Tracing.ts"
import type { SignalChoice, TelemetryChoice } from "./telemetrySettings.ts"

export interface Telemetry {
  /** Absent if traces are not exported. */
  readonly tracing?: Tracing["Service"]
  /** Takes a log line. Absent if logs are not exported. */
  readonly log?: (record: LogRecord) => void
  /** Exports while the effect runs. When it has ended, the rest is exported within a limited time. */
  readonly during: <A, E, R>(program: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export interface TelemetryOptions {
  readonly choice: TelemetryChoice
  /** What the product says about the process. An operator's attributes go before it. */
  readonly resource: TelemetryAttributes
  /** The beginning of the names of metrics. */
  readonly namePrefix: string
}

/** Records that wait take at most this much memory for each signal, and a request has at most this much. */
const queueBytes = 8 * 1024 * 1024
const batchBytes = 1024 * 1024
/** How long the end of the process may wait for the collector. */
const closeWithinMs = 5_000

const encodings = { "http/json": otlpJson, "http/protobuf": otlpProtobuf } as const

export const makeTelemetry = ({ choice, resource, namePrefix }: TelemetryOptions): Telemetry => {
  const { traces, logs } = choice
  const attributes = { ...resource, ...choice.resource }
  const exporterOf = (signal: OtlpSignal, of: SignalChoice) => {
    const encoding: OtlpEncoding = encodings[of.protocol]
    const exporter = new Exporter({
      signal,
      records: of.queueRecords,
      bytes: queueBytes,
      batchRecords: of.batchRecords,
      batchBytes,
      delayMs: of.delayMs,
      exportTimeoutMs: of.exportTimeoutMs,
      send: (records) =>
        Effect.suspend(() =>
          postBatch(of.endpoint, encoding.contentType, encoding.body(signal, attributes, records)),
        ),
      metrics: exporterMetrics(namePrefix, signal),
    })
    return { exporter, encoding }
  }
  const spans = traces === undefined ? undefined : exporterOf("traces", traces)
  const lines = logs === undefined ? undefined : exporterOf("logs", logs)
  const exporters = [spans, lines].flatMap((made) => (made === undefined ? [] : [made.exporter]))
  return {
    ...(traces === undefined || spans === undefined
      ? {}
      : {
          tracing: systemTracing(traces.sampler, (span) =>
            spans.exporter.add(() => spans.encoding.span(span)),
          ),
        }),
    ...(lines === undefined
      ? {}
      : { log: (record: LogRecord) => lines.exporter.add(() => lines.encoding.log(record)) }),
    during: (program) => exportDuring(exporters, program),
  }
}

const exportDuring = <A, E, R>(
  exporters: ReadonlyArray<Exporter>,
  program: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const running = yield* Effect.forEach(exporters, (exporter) =>
      Effect.map(Effect.forkDetach(exporter.run), (fiber) => ({ exporter, fiber })),
    )
    const exit = yield* Effect.exit(program)
    const dropped = yield* Effect.forEach(
      running,
      ({ exporter, fiber }) => exporter.close(fiber, closeWithinMs),
      { concurrency: "unbounded" },
    )
    const count = dropped.reduce((sum, one) => sum + one, 0)
    // The log is closed by now.
    if (count > 0)
      yield* Console.error(`punctual: ${count} spans and log lines could not be sent to the collector`)
    return yield* exit
  })

const exporterMetrics = (prefix: string, signal: OtlpSignal): ExporterMetrics => {
  const exported = Metric.counter(`${prefix}_telemetry_exported_total`, {
    description: "Spans and log lines that the collector took",
    incremental: true,
    attributes: { signal },
  })
  const dropped = new Map<DropReason, Metric.Counter<number>>(
    dropReasons.map((reason) => [
      reason,
      Metric.counter(`${prefix}_telemetry_dropped_total`, {
        description: "Spans and log lines that were dropped instead of exported",
        incremental: true,
        attributes: { signal, reason },
      }),
    ]),
  )
  const metrics: ExporterMetrics = {
    exported: (count) => exported.updateUnsafe(count, noContext),
    dropped: (reason, count) => dropped.get(reason)?.updateUnsafe(count, noContext),
  }
  metrics.exported(0)
  for (const reason of dropReasons) metrics.dropped(reason, 0)
  return metrics
}

/** The usual registry of metrics. */
const noContext = Context.empty()
