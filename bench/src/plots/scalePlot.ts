// One measure against the number of pending timers, a line for each store. A flat line is good.
import { count } from "../Benchmark.ts"
import { type Axis, chart } from "./chart.ts"

export interface ScaleSeries {
  readonly name: string
  /** The value at each number of pending timers. */
  readonly values: ReadonlyArray<readonly [pending: number, value: number]>
  /** The series is a second measure of the series before it. */
  readonly isSecond?: boolean
}

export const scalePlot = (
  title: string,
  subtitle: string,
  unit: string,
  series: ReadonlyArray<ScaleSeries>,
): string => {
  const known = series.map(({ values, ...rest }) => ({
    ...rest,
    values: values.filter(([, value]) => Number.isFinite(value)),
  }))
  const all = known.flatMap(({ values }) => values)
  const pending = all.map(([at]) => at)
  return chart({
    title,
    subtitle,
    x: pendingAxis(Math.min(...pending), Math.max(...pending)),
    y: fromZero(Math.max(...all.map(([, value]) => value)), unit),
    lines: known
      .filter(({ values }) => values.length > 0)
      .map(({ name, values, isSecond = false }) => ({
        name,
        points: values,
        isMain: !isSecond,
        isDashed: isSecond,
        isDotted: true,
      })),
  })
}

/** Logarithmic, with a tick at each power of ten. */
const pendingAxis = (least: number, most: number): Axis => {
  const from = Math.log10(least)
  const decades = Math.max(0.1, Math.log10(most) - from)
  const first = Math.ceil(from - 1e-9)
  const ticks = Array.from(
    { length: Math.max(0, Math.floor(Math.log10(most) + 1e-9) - first + 1) },
    (_, step) => ({
      value: 10 ** (first + step),
      label: count(10 ** (first + step)),
    }),
  )
  return {
    at: (value) => 0.03 + (0.94 * (Math.log10(value) - from)) / decades,
    ticks,
    label: "timers pending",
  }
}

const fromZero = (most: number, unit: string): Axis => {
  const step = roundStep(Math.max(most, Number.MIN_VALUE) / 5)
  const steps = Math.max(1, Math.ceil(most / step - 1e-9))
  return {
    at: (value) => value / (steps * step),
    ticks: Array.from({ length: steps + 1 }, (_, index) => ({
      value: index * step,
      label: (+(index * step).toPrecision(6)).toLocaleString("en-US"),
    })),
    label: unit,
  }
}

/** Rounds up to the next of 1, 2, 5, 10, … */
const roundStep = (least: number): number => {
  const power = 10 ** Math.floor(Math.log10(least))
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10)
}
