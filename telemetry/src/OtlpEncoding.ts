// How spans and log lines become the body of a request. Each record is encoded alone, when it is added, and a body puts
// encoded records together. So no encoding takes longer than one record, and the queue knows exactly how large it is.
import type { EndedSpan, LogRecord, TelemetryAttributes } from "./TelemetryRecords.ts"

export interface OtlpEncoding {
  readonly contentType: string
  span(span: EndedSpan): Uint8Array
  log(record: LogRecord): Uint8Array
  /** The body of a request. All records are spans, or all are log lines. */
  body(
    signal: OtlpSignal,
    resource: TelemetryAttributes,
    records: ReadonlyArray<Uint8Array>,
  ): Uint8Array<ArrayBuffer>
}

export const otlpSignals = ["traces", "logs"] as const

export type OtlpSignal = (typeof otlpSignals)[number]

/** What made the records, in the terms of OpenTelemetry: the instrumentation scope. */
export const scopeName = "punctual"

/** The flags of a span: sampled, and whether its parent is known to be in another process. */
export const sampledFlags = 0x101
export const remoteFlags = 0x300

/** `STATUS_CODE_ERROR` of OTLP. */
export const errorStatus = 2
