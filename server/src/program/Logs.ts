// The log of the service: one JSON object per line on stderr, or a short readable line if stderr is a terminal. stdout
// stays free for people: the start-up text, and npm's own banner.
//
// The code that logs decides what a line contains. The rule is: ids and counts, never payloads, secrets, or URLs with
// their query strings.
import { writeSync } from "node:fs"
import type { LogRecord } from "@punctual/telemetry/TelemetryRecords"
import { Cause, Layer, Logger, type LogLevel, References } from "effect"
import { logRecordOf } from "./logRecordOf.ts"

/** The values of TIMER_LOG and Effect's own names for them. */
export const logLevels = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None",
} as const satisfies Record<string, LogLevel.LogLevel>

export type LogLevelName = keyof typeof logLevels

export interface LogLine {
  readonly at: Date
  readonly level: LogLevel.LogLevel
  readonly message: string
  readonly annotations: Readonly<Record<string, unknown>>
  readonly cause?: string
}

/** The logger of the service, and the minimum level that it writes. `onRecord` also gets every line. */
export const layerLogs = (
  level: LogLevelName,
  isTerminal: boolean,
  onRecord?: (record: LogRecord) => void,
): Layer.Layer<never> => {
  const format = isTerminal ? formatForPeople : formatJson
  const logger = Logger.make<unknown, void>((options) => {
    const cause = options.cause.reasons.length > 0 ? Cause.pretty(options.cause) : undefined
    const line: LogLine = {
      at: options.date,
      level: options.logLevel,
      message: textOf(options.message),
      annotations: options.fiber.getRef(References.CurrentLogAnnotations),
      ...(cause === undefined ? {} : { cause }),
    }
    writeLine(format(line))
    onRecord?.(logRecordOf(line))
  })
  return Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, logLevels[level]))
}

/** The fixed fields come first, and annotations cannot overwrite them. */
export const formatJson = (line: LogLine): string => {
  const fixed = {
    time: line.at.toISOString(),
    level: line.level.toLowerCase(),
    message: line.message,
    ...(line.cause === undefined ? {} : { cause: line.cause }),
  }
  return JSON.stringify({ ...fixed, ...line.annotations, ...fixed })
}

export const formatForPeople = (line: LogLine): string => {
  const fields = Object.entries(line.annotations)
    .map(([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("")
  const cause = line.cause === undefined ? "" : `\n${line.cause}`
  return `${line.at.toISOString().slice(11, 23)} ${line.level.toUpperCase().padEnd(5)} ${line.message}${fields}${cause}`
}

const textOf = (message: unknown): string => {
  const parts = Array.isArray(message) ? message : [message]
  return parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ")
}

/** Written synchronously, so that the last line before an exit is not lost. */
const writeLine = (line: string): void => {
  try {
    writeSync(2, `${line}\n`)
  } catch {
    // A closed or full stderr must not stop the service.
  }
}
