// A log line as OpenTelemetry exports it. The line decides what it contains: ids and counts, never payloads or secrets.
import type { AttributeValue, LogRecord } from "@punctual/telemetry/TelemetryRecords"
import type { LogLine } from "./Logs.ts"

/** The numbers of OTLP. */
const severities: Readonly<Record<string, number>> = {
  Trace: 1,
  Debug: 5,
  Info: 9,
  Warn: 13,
  Error: 17,
  Fatal: 21,
}

/** The annotations `traceId` and `spanId` name the span that a line is about. */
export const logRecordOf = ({ at, level, message, annotations, cause }: LogLine): LogRecord => {
  const { traceId, spanId, ...others } = annotations
  const attributes: Record<string, AttributeValue> = {}
  for (const [name, value] of Object.entries(others)) attributes[name] = attributeOf(value)
  if (cause !== undefined) attributes["exception.stacktrace"] = cause
  return {
    atMs: at.getTime(),
    severity: severities[level] ?? 9,
    severityText: level.toUpperCase(),
    message,
    attributes,
    ...(typeof traceId === "string" ? { traceId } : {}),
    ...(typeof spanId === "string" ? { spanId } : {}),
  }
}

const attributeOf = (value: unknown): AttributeValue =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? value
    : (JSON.stringify(value) ?? String(value))
