// Attempts that wait for their turn. Tenants take turns, and a tenant or a host that is slow occupies only its share of
// the slots. The queue holds a bounded number of attempts. What does not fit stays in the store and is found there
// later.

export interface TurnBounds {
  /** Attempts that run at the same time: in all, for a tenant, and for a host of a tenant. */
  readonly atOnce: number
  readonly atOncePerTenant: number
  readonly atOncePerHost: number
  /** Attempts that wait: in all, and for a tenant. */
  readonly waiting: number
  readonly waitingPerTenant: number
}

export const defaultTurnBounds: TurnBounds = {
  atOnce: 128,
  atOncePerTenant: 32,
  atOncePerHost: 16,
  waiting: 10_000,
  waitingPerTenant: 2_000,
}

export interface Turn {
  readonly tenantId: string
  readonly host: string
  readonly attemptId: string
}

/** How many attempts of a tenant are looked at for a host with a free slot. */
const lookedAt = 64

export class TurnQueue<Item extends Turn> {
  readonly #bounds: TurnBounds
  /** The tenants with waiting attempts. The first one is next. */
  readonly #waiting = new Map<string, Array<Item>>()
  readonly #known = new Set<string>()
  readonly #running = new Map<string, number>()
  #waitingCount = 0
  #runningCount = 0

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds
  }

  get running(): number {
    return this.#runningCount
  }

  get waiting(): number {
    return this.#waitingCount
  }

  /** False if there is no room. An attempt that waits or runs already is not added again. */
  offer(item: Item): boolean {
    const name = `${item.tenantId}/${item.attemptId}`
    if (this.#known.has(name)) return true
    const own = this.#waiting.get(item.tenantId) ?? []
    if (this.#waitingCount >= this.#bounds.waiting || own.length >= this.#bounds.waitingPerTenant)
      return false
    this.#known.add(name)
    own.push(item)
    this.#waiting.set(item.tenantId, own)
    this.#waitingCount++
    return true
  }

  /** The next attempt that may run. It occupies its slots until `finish`. */
  next(): Item | undefined {
    if (this.#runningCount >= this.#bounds.atOnce) return undefined
    for (const [tenantId, items] of this.#waiting) {
      const item = this.#take(tenantId, items)
      if (item === undefined) continue
      // The tenant goes to the end of the turn.
      this.#waiting.delete(tenantId)
      if (items.length > 0) this.#waiting.set(tenantId, items)
      this.#count(item, 1)
      return item
    }
    return undefined
  }

  finish(item: Item): void {
    this.#known.delete(`${item.tenantId}/${item.attemptId}`)
    this.#count(item, -1)
  }

  #take(tenantId: string, items: Array<Item>): Item | undefined {
    if ((this.#running.get(tenantId) ?? 0) >= this.#bounds.atOncePerTenant) return undefined
    const index = items
      .slice(0, lookedAt)
      .findIndex((item) => (this.#running.get(hostOf(item)) ?? 0) < this.#bounds.atOncePerHost)
    if (index < 0) return undefined
    this.#waitingCount--
    return items.splice(index, 1)[0]
  }

  #count(item: Item, change: 1 | -1): void {
    this.#runningCount += change
    for (const name of [item.tenantId, hostOf(item)]) {
      const count = (this.#running.get(name) ?? 0) + change
      if (count > 0) this.#running.set(name, count)
      else this.#running.delete(name)
    }
  }
}

const hostOf = ({ tenantId, host }: Turn): string => `${tenantId}/${host}`
