// Lateness by percentile, a line for each system, on logarithmic axes. It shows the late timers that an average hides.
import { percentile } from "../Benchmark.ts"
import { chart, type Tick } from "./chart.ts"

export interface Series {
  readonly name: string
  readonly latenessMs: ReadonlyArray<number>
  /** The line is drawn over the others, and thicker. */
  readonly isMain: boolean
}

/** Lateness below this value is drawn at the bottom of the chart. */
const leastMs = 0.1
const mostNines = 4
/** A percentile needs at least this many timers above it. With fewer it says nothing. */
const fewest = 3
const stepsToANine = 16
const percentileTicks = [0.5, 0.9, 0.99, 0.999, 0.9999]

/** The axis counts nines: each step to the right leaves a tenth of the timers before it. */
const nines = (fraction: number): number => -Math.log10(1 - fraction)

export const percentilePlot = (title: string, subtitle: string, series: ReadonlyArray<Series>): string => {
  const sorted = series.map(({ latenessMs, ...rest }) => ({
    ...rest,
    latenessMs: Float64Array.from(latenessMs).sort(),
  }))
  const highestMs = Math.max(10, ...sorted.map(({ latenessMs }) => latenessMs.at(-1) ?? 0))
  // The axis ends where the longest line ends.
  const reached = Math.log10(Math.max(...sorted.map(({ latenessMs }) => latenessMs.length)) / fewest)
  const ninesShown = Math.min(mostNines, Math.max(1, reached))
  const decades = Math.ceil(Math.log10(highestMs))
  const atMs = (ms: number): number =>
    Math.log10(Math.max(ms, leastMs) / leastMs) / (decades - Math.log10(leastMs))
  return chart({
    title,
    subtitle,
    x: {
      at: (fraction) => nines(fraction) / ninesShown,
      ticks: percentileTicks
        .filter((value) => nines(value) <= ninesShown + 1e-9)
        .map((value) => ({ value, label: `p${+(value * 100).toFixed(2)}` })),
      label: "percentile of timers",
    },
    y: { at: atMs, ticks: ticksUpTo(decades), label: "" },
    lines: sorted.map(({ name, latenessMs, isMain }) => ({
      name,
      note: `p99 ${durationText(percentile([...latenessMs], 0.99))}`,
      isMain,
      points: curve(latenessMs),
    })),
  })
}

/** Omits the earliest timers, and percentiles with too few timers above them. */
const curve = (sorted: Float64Array): ReadonlyArray<readonly [number, number]> =>
  Array.from({ length: mostNines * stepsToANine }, (_, step) => 1 - 10 ** (-(step + 1) / stepsToANine))
    .filter((fraction) => (1 - fraction) * sorted.length >= fewest)
    .map((fraction) => [
      fraction,
      sorted[Math.max(0, Math.ceil(fraction * sorted.length - 1e-9) - 1)] ?? Number.NaN,
    ])

const ticksUpTo = (decades: number): ReadonlyArray<Tick> => [
  { value: leastMs, label: durationText(leastMs) },
  ...Array.from({ length: decades + 1 }, (_, decade) => ({
    value: 10 ** decade,
    label: durationText(10 ** decade),
  })),
]

const durationText = (ms: number): string =>
  ms < 995 ? `${+ms.toPrecision(2)} ms` : `${+(ms / 1_000).toPrecision(2)} s`
