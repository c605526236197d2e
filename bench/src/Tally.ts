// Counts what clients of the bench get: answers by status, events, and connections that were closed or refused.
import { count } from "./Benchmark.ts"

/** What clients got, and how often: a status, or another event such as `closed`. */
export type Counts = Readonly<Record<string, number>>

export class Tally {
  readonly #counts = new Map<string, number>()

  add(event: string | number, times = 1): void {
    if (times > 0) this.#counts.set(String(event), (this.#counts.get(String(event)) ?? 0) + times)
  }

  get counts(): Counts {
    return Object.fromEntries(this.#counts)
  }
}

/** The sums of all counts, such as `200 × 12, closed × 3`. */
export const countsText = (all: ReadonlyArray<Counts>): string => {
  const sums = new Tally()
  for (const counts of all) for (const [event, times] of Object.entries(counts)) sums.add(event, times)
  const texts = Object.entries(sums.counts).map(([event, times]) => `${event} × ${count(times)}`)
  return texts.length === 0 ? "nothing" : texts.join(", ")
}
