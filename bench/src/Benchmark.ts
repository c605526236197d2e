// What a benchmark is: the same work done by Punctual and by the bare limit, in turns so that noise hits both
// alike, and a ratio to reach. Figures of different machines do not compare; ratios of one run do.

export interface Verdict {
  readonly label: string
  readonly value: string
  readonly target: string
  readonly isReached: boolean
}

export interface Report {
  readonly rows: ReadonlyArray<{ readonly name: string; readonly values: string }>
  readonly verdicts: ReadonlyArray<Verdict>
  /** By the name of their file, without its ending. */
  readonly plots?: ReadonlyArray<{ readonly name: string; readonly svg: string }>
}

export interface Scale {
  readonly rounds: number
  /** Shrinks the work for a quick look. */
  readonly isQuick: boolean
  /** Also runs the systems that Punctual is compared with. */
  readonly withPeers: boolean
}

export interface Benchmark {
  readonly id: string
  readonly title: string
  run(scale: Scale, progress: (message: string) => void): Promise<Report>
}

/** By the nearest rank. */
export const percentile = (values: ReadonlyArray<number>, fraction: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return (
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(fraction * sorted.length) - 1))] ?? Number.NaN
  )
}

export interface Rates {
  /** In the order of the sides: what each did a second, by its median round. */
  readonly medians: ReadonlyArray<number>
  readonly rows: Report["rows"]
}

/** Runs each side once a round, in turns, and compares the medians of what they did a second. */
export const compareRates = async (
  sides: ReadonlyArray<{ readonly name: string; readonly perSecond: () => Promise<number> }>,
  scale: Scale,
  progress: (message: string) => void,
): Promise<Rates> => {
  const all = sides.map((): Array<number> => [])
  for (let round = 1; round <= scale.rounds; round++) {
    for (const [index, side] of sides.entries()) {
      const perSecond = await side.perSecond()
      all[index]?.push(perSecond)
      progress(`round ${round}/${scale.rounds} ${side.name}: ${count(perSecond)}/s`)
    }
  }
  const medians = all.map((rates) => percentile(rates, 0.5))
  return {
    medians,
    rows: sides.map(({ name }, index) => {
      const rates = all[index] ?? []
      const spread = `${count(Math.min(...rates))} to ${count(Math.max(...rates))}`
      return { name, values: `${count(medians[index] ?? Number.NaN)}/s (${spread})` }
    }),
  }
}

/** The first side's rate as a part of the second's. */
export const ratioOf = ({ medians: [ours, bare] }: Rates): number =>
  (ours ?? Number.NaN) / (bare ?? Number.NaN)

export const count = (value: number): string => Math.round(value).toLocaleString("en-US")

export const latenessText = (latenessMs: ReadonlyArray<number>): string => {
  const at = (fraction: number) => `${percentile(latenessMs, fraction).toFixed(1)} ms`
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, p99.9 ${at(0.999)}, highest ${at(1)}`
}

export const atLeast = (label: string, value: number, target: number): Verdict => ({
  label,
  value: value.toFixed(2),
  target: `≥ ${target}`,
  isReached: value >= target,
})

export const atMost = (label: string, value: number, target: number, unit: string): Verdict => ({
  label,
  value: `${value.toFixed(1)} ${unit}`,
  target: `≤ ${target} ${unit}`,
  isReached: value <= target,
})
