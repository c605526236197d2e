// What a benchmark is: the same work done by Punctual and by the bare limit, in turns so that noise hits both
// alike, and a ratio to reach. Figures of different machines do not compare; ratios of one run do.

export interface Measurement {
  /** What was measured: `Punctual` or the bare limit's name. */
  readonly name: string
  readonly value: number
}

export interface Verdict {
  readonly label: string
  readonly value: string
  readonly target: string
  readonly isReached: boolean
}

export interface Report {
  readonly rows: ReadonlyArray<{ readonly name: string; readonly values: string }>
  readonly verdicts: ReadonlyArray<Verdict>
}

export interface Scale {
  readonly rounds: number
  /** Shrinks the work for a quick look. */
  readonly isQuick: boolean
}

export interface Benchmark {
  readonly id: string
  readonly title: string
  run(scale: Scale, progress: (message: string) => void): Promise<Report>
}

export const median = (values: ReadonlyArray<number>): number => percentile(values, 0.5)

/** By the nearest rank. */
export const percentile = (values: ReadonlyArray<number>, fraction: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return (
    sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(fraction * sorted.length) - 1))] ?? Number.NaN
  )
}

/** Runs each side once a round, in turns, and compares the medians of what they did a second. */
export const compareRates = async (
  sides: ReadonlyArray<{ readonly name: string; readonly perSecond: () => Promise<number> }>,
  scale: Scale,
  progress: (message: string) => void,
): Promise<
  ReadonlyArray<{ readonly name: string; readonly median: number; readonly all: ReadonlyArray<number> }>
> => {
  const all = sides.map(() => [] as Array<number>)
  for (let round = 1; round <= scale.rounds; round++) {
    for (const [index, side] of sides.entries()) {
      const perSecond = await side.perSecond()
      all[index]?.push(perSecond)
      progress(`round ${round}/${scale.rounds} ${side.name}: ${count(perSecond)}/s`)
    }
  }
  return sides.map(({ name }, index) => ({ name, median: median(all[index] ?? []), all: all[index] ?? [] }))
}

export const count = (value: number): string => Math.round(value).toLocaleString("en-US")

export const rateRow = (side: {
  readonly name: string
  readonly median: number
  readonly all: ReadonlyArray<number>
}) => ({
  name: side.name,
  values: `${count(side.median)}/s (${count(Math.min(...side.all))} to ${count(Math.max(...side.all))})`,
})

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
