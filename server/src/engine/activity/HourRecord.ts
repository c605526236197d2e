// The activity of one hour, as far as it has come. It has the form of a record, and says which minutes it contains.
import {
  type ActivityRecord,
  activityTypes,
  addCounts,
  latenessBuckets,
} from "../../domain/ActivityRecord.ts"
import { lateNamesKept, namespacesKept } from "./ActivityCounter.ts"
import { CountTable } from "./CountTable.ts"

/** Names in memory. */
const namesMax = 10_000

export class HourRecord {
  readonly atMs: number
  readonly #namespaces = new CountTable(activityTypes.length, namesMax)
  readonly #lateness = new Array<number>(latenessBuckets).fill(0)
  readonly #lateNamespaces = new CountTable(latenessBuckets, namesMax)
  readonly #lateHosts = new CountTable(latenessBuckets, namesMax)
  #lastMinuteMs = 0

  constructor(atMs: number) {
    this.atMs = atMs
  }

  /** A minute that is already contained changes nothing, because its store may be repeated. */
  add({ atMs, namespaces, lateness, late }: ActivityRecord): void {
    if (atMs <= this.#lastMinuteMs) return
    this.#lastMinuteMs = atMs
    this.#namespaces.add(namespaces)
    addCounts(this.#lateness, lateness)
    if (late === undefined) return
    this.#lateNamespaces.add(late.namespaces)
    this.#lateHosts.add(late.hosts)
  }

  get value(): ActivityRecord & { readonly lastMinuteMs: number } {
    return {
      atMs: this.atMs,
      lastMinuteMs: this.#lastMinuteMs,
      namespaces: this.#namespaces.busiest(namespacesKept),
      lateness: [...this.#lateness],
      late: {
        namespaces: this.#lateNamespaces.busiest(lateNamesKept),
        hosts: this.#lateHosts.busiest(lateNamesKept),
      },
    }
  }

  /** The last minute that a stored hour contains. */
  static lastMinuteOf(value: unknown): number {
    const last: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "lastMinuteMs") : 0
    return typeof last === "number" ? last : 0
  }
}
