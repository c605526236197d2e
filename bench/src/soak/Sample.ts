// One sample of a service that runs for long, and the comparison of many samples, which shows whether anything grows.
import { percentile } from "../Benchmark.ts"

export interface Sample {
  readonly minute: number
  readonly residentMiB: number
  readonly handles: number
  readonly threads: number
  readonly databaseMiB: number
  readonly logMiB: number
  readonly pending: number
  readonly delivered: number
  /** The 99th percentile of the deliveries since the last sample. */
  readonly latenessP99Ms: number
}

/** The measures that must not grow while the work stays the same. */
export const watched = {
  residentMiB: "resident memory, MiB",
  handles: "open handles",
  threads: "threads",
  databaseMiB: "database, MiB",
  logMiB: "its log, MiB",
  latenessP99Ms: "lateness p99, ms",
} as const

export interface Growth {
  readonly measure: keyof typeof watched
  readonly name: string
  readonly early: number
  readonly late: number
  readonly growth: number
  readonly isFlat: boolean
}

/** The limit for the last quarter of a run, relative to the second quarter, in which all caches are warm. */
export const mostGrowth = 1.2

/** Compares the medians of the last and the second quarter. Growth of up to one millisecond or mebibyte is flat. */
export const flatness = (samples: ReadonlyArray<Sample>): ReadonlyArray<Growth> => {
  const quarter = Math.floor(samples.length / 4)
  const median = (of: keyof typeof watched, from: number, until: number) =>
    percentile(
      samples.slice(from, until).map((sample) => sample[of]),
      0.5,
    )
  return Object.entries(watched).map(([key, name]) => {
    const measure = key as keyof typeof watched
    const early = median(measure, quarter, 2 * quarter)
    const late = median(measure, samples.length - quarter, samples.length)
    const growth = late === early ? 1 : late / early
    return { measure, name, early, late, growth, isFlat: late - early <= 1 || growth <= mostGrowth }
  })
}

export const sampleText = (sample: Sample): string =>
  `${sample.minute.toFixed(1)} min: ${sample.residentMiB.toFixed(0)} MiB, ${sample.handles} handles, ` +
  `${sample.threads} threads, database ${sample.databaseMiB.toFixed(1)} MiB, log ${sample.logMiB.toFixed(1)} MiB, ` +
  `${sample.pending} pending, ${sample.delivered} delivered, p99 ${sample.latenessP99Ms.toFixed(0)} ms late`
