/** The marks of a time axis: at whole hours or days of the zone, as many as have room. */
import type { Span } from "./Strip.tsx"
import { clockText, months, offsetMinutes, partsOf } from "./times.ts"

const minuteMs = 60_000
const dayMs = 86_400_000
const weekMs = 7 * dayMs
/** From here on the axis may cross a year. */
const longStepMs = 28 * dayMs
const stepsMs = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080, 40_320, 120_960].map(
  (minutes) => minutes * minuteMs,
)
const labelPixels = 88
const edgePixels = 20

export interface Tick {
  readonly atMs: number
  readonly text: string
}

export const axisTicks = ({ fromMs, untilMs }: Span, zone: string, width: number): ReadonlyArray<Tick> => {
  const most = Math.max(1, Math.floor(width / labelPixels))
  const stepMs = stepsMs.find((step) => (untilMs - fromMs) / step <= most) ?? 365 * dayMs
  const ticks: Array<Tick> = []
  // The offset is taken anew for each mark, because clocks may change within the span.
  const offsetMs = offsetMinutes(fromMs, zone) * minuteMs
  for (let local = Math.ceil((fromMs + offsetMs) / stepMs) * stepMs; ; local += stepMs) {
    const guess = local - offsetMs
    const atMs = guess + offsetMs - offsetMinutes(guess, zone) * minuteMs
    if (atMs >= untilMs) return ticks
    // A label at the edge would be cut off.
    const x = ((atMs - fromMs) / (untilMs - fromMs)) * width
    if (x >= edgePixels && x <= width - edgePixels) ticks.push({ atMs, text: tickText(atMs, zone, stepMs) })
  }
}

const tickText = (atMs: number, zone: string, stepMs: number): string => {
  const { year, month, weekday, day, hour, minute } = partsOf(atMs, zone)
  const name = months[Number(month) - 1]
  if (stepMs >= longStepMs) return `${day} ${name} ${year}`
  if (stepMs >= dayMs) return stepMs >= weekMs ? `${day} ${name}` : `${weekday} ${day} ${name}`
  return hour === "00" && minute === "00" ? `${weekday} ${day}` : clockText(atMs, zone).slice(0, 5)
}
