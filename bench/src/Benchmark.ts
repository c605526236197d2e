// A benchmark gives the same work to Punctual, to its peers and to the bare limit, and has a target ratio. The sides take
// turns, so that noise affects all of them equally. You can compare the ratios of one run. You cannot compare figures
// from different machines.
import type { ServerName } from "./Servers.ts"

/** The values of one measure of one side, over all rounds. */
export interface Figure {
  readonly measure: string
  readonly unit: string
  readonly rounds: ReadonlyArray<number>
  readonly median: number
}

export interface Row {
  readonly name: string
  /** How durable an answered create is, and the settings that matter. */
  readonly terms?: string
  readonly values: string
  readonly figures?: ReadonlyArray<Figure>
}

export interface Verdict {
  readonly label: string
  readonly value: string
  /** Without a target the value is only for information. */
  readonly target?: string
  /** Undefined if there is no target or no value. */
  readonly isReached?: boolean
}

export interface Report {
  readonly rows: ReadonlyArray<Row>
  readonly verdicts: ReadonlyArray<Verdict>
  /** The name is the file name without its extension. */
  readonly plots?: ReadonlyArray<{ readonly name: string; readonly svg: string }>
}

export interface Scale {
  readonly rounds: number
  /** Makes a smoke run with very little work. Its figures are not valid results. */
  readonly isQuick: boolean
  /** Also runs the systems that Punctual is compared with. */
  readonly withPeers: boolean
  /** The databases of Stores, besides SQLite and PostgreSQL. */
  readonly stores?: ReadonlyArray<string>
  /** Only the scenes of Isolation that have one of these texts in their name. The default is all. */
  readonly scenes?: ReadonlyArray<string>
}

export interface Benchmark {
  readonly id: string
  /** Benchmarks with the same work on other servers have the same family. `--only` takes it, too. */
  readonly family?: string
  readonly title: string
  /** What a reader must know to judge the table: a paragraph above it. */
  readonly note?: string
  /** Servers that some of its sides need. The run looks for them before it begins. The default is PostgreSQL. */
  readonly uses?: ReadonlyArray<ServerName>
  /** Servers that all of its sides need. */
  readonly needs?: ReadonlyArray<ServerName>
  /** Whether peers are among its sides. Peers may need more servers. The default is true. */
  readonly hasPeers?: boolean
  /** It takes so long that it runs only if `--only` names it. */
  readonly isOnlyOnRequest?: true
  /** The names of all rows, if parts of it can be measured alone. Then their rows go into the table of earlier runs. */
  readonly rowOrder?: ReadonlyArray<string>
  run(scale: Scale, progress: (message: string) => void): Promise<Report>
}

/** Uses the nearest-rank method. */
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

/** A ratio without a target, for information. */
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

/** The error as a text that is short enough for a row of a table. */
export const whyNot = (error: unknown): string =>
  `failed: ${(error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").slice(0, 200)}`

export const leftOut = (why: string): string => `skipped: ${why}`

const notMeasured = "not measured"
