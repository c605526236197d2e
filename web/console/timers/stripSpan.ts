/** The span of time that the strip shows. The address holds it, as a choice such as `24h` or as two instants. */
import type { Span } from "../../kit/Strip.tsx"

const hourMs = 3_600_000

export const spanChoices: Readonly<Record<string, number>> = {
  "1h": hourMs,
  "24h": 24 * hourMs,
  "7d": 7 * 24 * hourMs,
}

const defaultMs = 24 * hourMs

/** The other side of now takes this part of the span, so that the reader sees where now is. */
const besideNow = 1 / 16

/** How many bars the strip has. Those of a choice are whole minutes or hours. */
export const bucketsOf = (text: string | undefined): number => {
  if (text !== undefined && spanChoices[text] === undefined) return usualBuckets
  return text === "1h" ? 60 : text === "7d" ? 84 : usualBuckets
}

const usualBuckets = 96

/** `offsetMs`: of the zone, because bars begin at whole hours of its clocks. */
export const spanOf = (text: string | undefined, isPast: boolean, nowMs: number, offsetMs = 0): Span => {
  const [, from, until] = /^(\d{1,15})-(\d{1,15})$/.exec(text ?? "") ?? []
  if (from !== undefined && until !== undefined && Number(until) - Number(from) >= 1_000) {
    return { fromMs: Number(from), untilMs: Number(until) }
  }
  const lengthMs = spanChoices[text ?? ""] ?? defaultMs
  // The span moves in steps, so that the page does not ask for other counts every second.
  const buckets = bucketsOf(text)
  const stepMs = lengthMs / buckets
  const now = Math.floor((nowMs + offsetMs) / stepMs) * stepMs - offsetMs
  const besideMs = Math.round(besideNow * buckets) * stepMs
  return isPast
    ? { fromMs: now - lengthMs + besideMs, untilMs: now + besideMs }
    : { fromMs: now - besideMs, untilMs: now + lengthMs - besideMs }
}

export const spanText = ({ fromMs, untilMs }: Span): string => `${Math.round(fromMs)}-${Math.round(untilMs)}`

/** The range of the list, as far as the strip shows it. A range without an end goes on to the edge. */
export const selectionOf = (from: string | null, until: string | null, span: Span): Span | undefined => {
  if (from === null && until === null) return undefined
  const fromMs = from === null ? span.fromMs : Date.parse(from)
  const untilMs = until === null ? span.untilMs : Date.parse(until)
  const shown = { fromMs: Math.max(fromMs, span.fromMs), untilMs: Math.min(untilMs, span.untilMs) }
  return shown.fromMs < shown.untilMs ? shown : undefined
}
