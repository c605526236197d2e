// Adds records of activity up to the points of an answer.
import type { ActivityAnswer } from "@punctual/api/TimerActivity"
import {
  type ActivityRecord,
  type ActivityRows,
  addCounts,
  latenessBoundsMs,
  otherName,
} from "../domain/ActivityRecord.ts"

export interface ActivitySumsOptions {
  readonly stepMs: number
  readonly isWanted: (namespace: string) => boolean
  /** The question is about all namespaces, and the caller may read all. */
  readonly isWhole: boolean
  readonly by?: "namespace" | "host"
}

/** The most series by namespace or host. */
const seriesMax = 50

type Counts = Array<number>

export class ActivitySums {
  readonly #options: ActivitySumsOptions
  readonly #points = new Map<number, { readonly counts: Counts; readonly lateness: Counts }>()
  readonly #series = new Map<string, { sum: number; readonly points: Map<number, Counts> }>()
  #isPartial = false

  constructor(options: ActivitySumsOptions) {
    this.#options = options
  }

  add({ atMs, namespaces, lateness, late }: ActivityRecord): void {
    const { by, isWanted, isWhole } = this.#options
    const point = this.#pointAt(atMs)
    this.#addRows(namespaces, (counts) => addCounts(point.counts, counts))
    if (isWhole) addCounts(point.lateness, lateness)
    if (by === undefined || late === undefined) return
    const { names, counts } = by === "host" ? late.hosts : late.namespaces
    for (const [place, name] of names.entries()) {
      if (name === otherName || (by === "namespace" && !isWanted(name))) continue
      this.#addSeries(name, atMs, counts[place] ?? [])
    }
  }

  answer(): Pick<ActivityAnswer, "latenessUpToMs" | "points" | "series" | "partial"> {
    const { by, isWhole } = this.#options
    const points = [...this.#points]
      .filter(([, { counts, lateness }]) => counts.length > 0 || lateness.length > 0)
      .sort(([one], [other]) => one - other)
      .map(([at, { counts, lateness }]) => ({
        at,
        created: counts[0] ?? 0,
        delivered: counts[1] ?? 0,
        retried: counts[2] ?? 0,
        dead: counts[3] ?? 0,
        cancelled: counts[4] ?? 0,
        ...(isWhole ? { lateness } : {}),
      }))
    const series = [...this.#series]
      .sort(([name, one], [next, other]) => other.sum - one.sum || (name < next ? -1 : 1))
      .slice(0, seriesMax)
      .map(([name, { points }]) => ({
        name,
        points: [...points].sort(([one], [other]) => one - other).map(([at, lateness]) => ({ at, lateness })),
      }))
    return {
      latenessUpToMs: latenessBoundsMs,
      points,
      ...(by === undefined ? {} : { series }),
      ...(this.#isPartial ? { partial: true as const } : {}),
    }
  }

  #addRows({ names, counts }: ActivityRows, add: (counts: ReadonlyArray<number>) => void): void {
    const { isWanted } = this.#options
    for (const [place, name] of names.entries()) {
      if (name === otherName) this.#isPartial = true
      // Only a question about all namespaces wants a name that no namespace can have.
      if (isWanted(name)) add(counts[place] ?? [])
    }
  }

  #addSeries(name: string, atMs: number, lateness: ReadonlyArray<number>): void {
    const series = this.#series.get(name) ?? { sum: 0, points: new Map<number, Counts>() }
    this.#series.set(name, series)
    const at = this.#stepOf(atMs)
    const point = series.points.get(at) ?? []
    series.points.set(at, point)
    addCounts(point, lateness)
    for (const count of lateness) series.sum += count
  }

  #pointAt(atMs: number): { readonly counts: Counts; readonly lateness: Counts } {
    const at = this.#stepOf(atMs)
    const known = this.#points.get(at)
    if (known !== undefined) return known
    const point = { counts: [], lateness: [] }
    this.#points.set(at, point)
    return point
  }

  #stepOf(atMs: number): number {
    return atMs - (atMs % this.#options.stepMs)
  }
}
