// Counts by event and tenant, with a bound on the number of tenants that have series of their own. The tenants that are
// counted most have their own series; the rest share `other`. No count is lost: the series of an event add up to its
// total, and no series decreases while it is shown.
//
// A tenant takes the slot of the shown tenant with the lowest count when it has been counted twice as often. Without
// this factor, two tenants with nearly equal counts would take the slot from each other again and again. The counts of
// the tenant that leaves are added to `other`. The new tenant starts at 0, because `other` already has its earlier
// counts.
import { SpaceSaving } from "./SpaceSaving.ts"

export interface TenantSample<Event extends string> {
  readonly event: Event
  readonly tenant: string
  readonly value: number
}

export interface TenantCountersOptions {
  /** How many tenants have series of their own. */
  readonly shown: number
}

/** The label of all tenants that are not shown. A tenant with this name is counted here as well. */
export const otherTenants = "other"

const candidatesAtLeast = 500
const overtakesBy = 2

export class TenantCounters<Event extends string> {
  readonly #shownAtMost: number
  readonly #shown = new Map<string, Map<Event, number>>()
  readonly #others = new Map<Event, number>()
  readonly #totals = new Map<Event, number>()
  readonly #ranking: SpaceSaving

  constructor({ shown }: TenantCountersOptions) {
    this.#shownAtMost = shown
    // Shown tenants are never replaced, so the sketch needs more places than they take.
    this.#ranking = new SpaceSaving(Math.max(candidatesAtLeast, 2 * shown))
  }

  count(event: Event, tenant: string): void {
    add(this.#totals, event, 1)
    add(this.#seriesOf(tenant), event, 1)
  }

  total(event: Event): number {
    return this.#totals.get(event) ?? 0
  }

  *samples(): Iterable<TenantSample<Event>> {
    for (const [tenant, series] of this.#shown) {
      for (const [event, value] of series) yield { event, tenant, value }
    }
    for (const [event, value] of this.#others) yield { event, tenant: otherTenants, value }
  }

  #seriesOf(tenant: string): Map<Event, number> {
    if (tenant === otherTenants) return this.#others
    this.#ranking.count(tenant, (name) => this.#shown.has(name))
    const series = this.#shown.get(tenant)
    if (series !== undefined) return series
    return this.#shown.size < this.#shownAtMost || this.#hasTakenSlot(tenant)
      ? this.#show(tenant)
      : this.#others
  }

  #show(tenant: string): Map<Event, number> {
    const series = new Map<Event, number>()
    this.#shown.set(tenant, series)
    return series
  }

  #hasTakenSlot(tenant: string): boolean {
    let least: string | undefined
    let leastCount = Number.POSITIVE_INFINITY
    for (const name of this.#shown.keys()) {
      const count = this.#ranking.countAtMost(name)
      if (count >= leastCount) continue
      least = name
      leastCount = count
    }
    if (least === undefined || this.#ranking.countAtLeast(tenant) < overtakesBy * leastCount) return false
    for (const [event, value] of this.#shown.get(least) ?? []) add(this.#others, event, value)
    this.#shown.delete(least)
    return true
  }
}

const add = <Event>(series: Map<Event, number>, event: Event, value: number): void => {
  series.set(event, (series.get(event) ?? 0) + value)
}
