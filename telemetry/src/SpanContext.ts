// One span of a trace, as W3C Trace Context names it in the header `traceparent`. The texts here are already checked
// (api/src/Traceparent).
import { randomFillSync } from "node:crypto"

export interface SpanContext {
  /** 32 hex digits. */
  readonly traceId: string
  /** 16 hex digits. */
  readonly spanId: string
  readonly isSampled: boolean
}

export const spanContextOf = (traceparent: string): SpanContext => ({
  traceId: traceparent.slice(3, 35),
  spanId: traceparent.slice(36, 52),
  isSampled: (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1,
})

export const traceparentText = ({ traceId, spanId, isSampled }: SpanContext): string =>
  `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`

/** Makes ids of traces and spans. */
export interface TraceIds {
  traceId(): string
  spanId(): string
}

/** Random ids. Random bytes are fetched in large parts, because each fetch costs more than an id. */
export const randomTraceIds = (): TraceIds => {
  const pool = Buffer.alloc(8 * 512)
  let used = pool.length
  const eightBytes = (): string => {
    if (used === pool.length) {
      randomFillSync(pool)
      used = 0
    }
    used += 8
    const text = pool.toString("hex", used - 8, used)
    // An id of zeros means that there is none.
    return text === zeros ? eightBytes() : text
  }
  return { traceId: () => eightBytes() + eightBytes(), spanId: eightBytes }
}

const zeros = "0".repeat(16)
