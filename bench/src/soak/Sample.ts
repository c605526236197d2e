// One look at a service that runs for long, and what many of them say together: does anything grow?
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
  /** Of the deliveries since the sample before. */
  readonly latenessP99Ms: number
}

/** What must not grow as long as the work stays the same. */
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

/** Of a measure in the last quarter of a run, beside the second, when all caches are warm. */
export const mostGrowth = 1.2

/** The median of the last quarter beside that of the second; a millisecond or a mebibyte more is flat in any case. */
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
