// What is exported: spans that have ended, and log lines.
import type { SpanContext } from "./SpanContext.ts"

export type AttributeValue = string | number | boolean

export type TelemetryAttributes = { readonly [name: string]: AttributeValue | undefined }

/** The numbers are those of OTLP. */
export const spanKinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const

export type SpanKind = keyof typeof spanKinds

export interface EndedSpan {
  readonly context: SpanContext
  readonly parent: SpanContext | undefined
  /** Another span that caused this one. */
  readonly link: SpanContext | undefined
  readonly name: string
  readonly kind: SpanKind
  /** Microseconds since 1970. */
  readonly startMicros: number
  readonly endMicros: number
  readonly attributes: TelemetryAttributes
  /** What failed, in few words without data of users. Absent if nothing failed. */
  readonly error?: string | undefined
}

export interface LogRecord {
  readonly atMs: number
  /** The numbers of OTLP: 5 debug, 9 info, 13 warn, 17 error. */
  readonly severity: number
  readonly severityText: string
  readonly message: string
  readonly attributes: TelemetryAttributes
  /** The span that the line is about. */
  readonly traceId?: string
  readonly spanId?: string
}

/** How many characters of a text are exported. */
export const attributeChars = 1_024
export const messageChars = 8_192

/** The text that is exported. Parts of characters would make a receiver refuse the whole batch. */
export const exportedText = (text: string, maxChars: number): string =>
  (text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`).toWellFormed()
