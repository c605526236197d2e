// What a benchmark is: the same work done by Punctual, by its peers and by the bare limit, in turns so that noise hits all
// alike, and a ratio to reach. Figures of different machines do not compare; ratios of one run do.
import type { ServerName } from "./Servers.ts"

/** One measure of one side over all rounds, as numbers. */
export interface Figure {
  readonly measure: string
  readonly unit: string
  readonly rounds: ReadonlyArray<number>
  readonly median: number
}

export interface Row {
  readonly name: string
  /** What an answered create survives, and the settings that matter. */
  readonly terms?: string
  readonly values: string
  readonly figures?: ReadonlyArray<Figure>
}

export interface Verdict {
  readonly label: string
  readonly value: string
  /** Without one it is told for its own sake. */
  readonly target?: string
  /** Without it there was nothing to judge. */
  readonly isReached?: boolean
}

export interface Report {
  readonly rows: ReadonlyArray<Row>
  readonly verdicts: ReadonlyArray<Verdict>
  /** By the name of their file, without its ending. */
  readonly plots?: ReadonlyArray<{ readonly name: string; readonly svg: string }>
}

export interface Scale {
  readonly rounds: number
  /** Shrinks the work to a smoke run: its figures are no results. */
  readonly isQuick: boolean
  /** Also runs the systems that Punctual is compared with. */
  readonly withPeers: boolean
}

export interface Benchmark {
  readonly id: string
  readonly title: string
  /** Servers that some of its sides need; they are looked for before the run begins. By default PostgreSQL. */
  readonly uses?: ReadonlyArray<ServerName>
  /** Servers without which nothing of it can be run. */
  readonly needs?: ReadonlyArray<ServerName>
  /** Whether it has sides of peers, which may need further servers. By default it has. */
  readonly hasPeers?: boolean
  run(scale: Scale, progress: (message: string) => void): Promise<Report>
}

/** By the nearest rank. */
export const percentile = (values: ReadonlyArray<number>, fraction: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return (
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(fraction * sorted.length) - 1))] ?? Number.NaN
  )
}

export const medianOf = (values: ReadonlyArray<number>): number => percentile(values, 0.5)

export const figure = (measure: string, unit: string, rounds: ReadonlyArray<number>): Figure => ({
  measure,
  unit,
  rounds,
  median: medianOf(rounds),
})

export const count = (value: number): string => Math.round(value).toLocaleString("en-US")

export const latenessText = (latenessMs: ReadonlyArray<number>): string => {
  const at = (fraction: number) => `${percentile(latenessMs, fraction).toFixed(1)} ms`
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, p99.9 ${at(0.999)}, highest ${at(1)}`
}

export const atLeast = (label: string, value: number, target: number): Verdict =>
  Number.isFinite(value)
    ? { label, value: value.toFixed(2), target: `≥ ${target}`, isReached: value >= target }
    : { label, value: notMeasured, target: `≥ ${target}` }

/** A ratio without a target. */
export const told = (label: string, value: number): Verdict => ({
  label,
  value: Number.isFinite(value) ? value.toFixed(2) : notMeasured,
})

export const atMost = (label: string, value: number, target: number, unit: string): Verdict => {
  const suffix = unit === "" ? "" : ` ${unit}`
  return Number.isFinite(value)
    ? {
        label,
        value: `${value.toFixed(unit === "" ? 2 : 1)}${suffix}`,
        target: `≤ ${target}${suffix}`,
        isReached: value <= target,
      }
    : { label, value: notMeasured, target: `≤ ${target}${suffix}` }
}

/** What went wrong, short enough for a line of a table. */
export const whyNot = (error: unknown): string =>
  `could not do it: ${(error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").slice(0, 200)}`

export const leftOut = (why: string): string => `left out: ${why}`

const notMeasured = "not measured"
