// Attempts that wait for their turn. Tenants take turns, and a tenant or a host that is slow occupies only its share of
// the places. A host is proven for a tenant if its last attempt ended in time. Attempts for other hosts get only a part of
// the places, because each of them may hold its place until its time-out. An attempt that runs for long gives its place
// to others while there are slow places. The queue holds a bounded number of attempts, and no tenant can fill it for
// others. What does not fit stays in the store and is found there later.

export interface TurnBounds {
  /** Attempts that run at the same time: in all, for a tenant, and for a host of a tenant. */
  readonly atOnce: number
  readonly atOncePerTenant: number
  readonly atOncePerHost: number
  /** How many of these may be for hosts that are not proven. */
  readonly unproven: number
  /** How many attempts may run in addition, after they gave up their places. They still count for tenant and host. */
  readonly slow: number
  /** Attempts that wait: in all, and for a tenant. */
  readonly waiting: number
  readonly waitingPerTenant: number
}

export const defaultTurnBounds: TurnBounds = {
  atOnce: 128,
  atOncePerTenant: 32,
  atOncePerHost: 16,
  unproven: 64,
  slow: 128,
  waiting: 10_000,
  waitingPerTenant: 2_000,
}

export interface Turn {
  readonly tenantId: string
  readonly host: string
  readonly attemptId: string
}

/** How many attempts of a tenant are looked at for a host with a free place. */
const lookedAt = 64
/** How many proven hosts are remembered. The one that answered longest ago is forgotten first. */
const provenKept = 10_000

/** Attempts that share a limit. */
class Lane<Item extends Turn> {
  /** The tenants with waiting attempts. The first one is next. */
  readonly waiting = new Map<string, Array<Item>>()
  readonly limit: number
  running = 0

  constructor(limit: number) {
    this.limit = limit
  }

  add(tenantId: string, items: ReadonlyArray<Item>): void {
    const own = this.waiting.get(tenantId)
    if (own === undefined) this.waiting.set(tenantId, [...items])
    else own.push(...items)
  }
}

/** An attempt that waits has no lane, and neither has one that runs on a slow place. */
interface Place<Item extends Turn> {
  readonly lane?: Lane<Item>
  readonly isInTime: boolean
}

export class TurnQueue<Item extends Turn> {
  readonly #bounds: TurnBounds
  readonly #proven: Lane<Item>
  readonly #unproven: Lane<Item>
  /** The lane whose turn it is comes first. */
  #lanes: readonly [Lane<Item>, Lane<Item>]
  readonly #provenHosts = new Set<string>()
  /** Every attempt that waits or runs. */
  readonly #known = new Map<string, Place<Item>>()
  readonly #running = new Map<string, number>()
  readonly #waitingOfTenant = new Map<string, number>()
  #waitingCount = 0
  #slowCount = 0

  constructor(bounds: TurnBounds) {
    this.#bounds = bounds
    this.#proven = new Lane(bounds.atOnce)
    this.#unproven = new Lane(bounds.unproven)
    this.#lanes = [this.#proven, this.#unproven]
  }

  get running(): number {
    return this.#occupied + this.#slowCount
  }

  get waiting(): number {
    return this.#waitingCount
  }

  /** False if there is no room. An attempt that waits or runs already is not added again. */
  offer(item: Item): boolean {
    const { tenantId } = item
    if (this.#known.has(nameOf(item))) return true
    const own = this.#waitingOfTenant.get(tenantId) ?? 0
    if (own >= this.#bounds.waitingPerTenant) return false
    if (this.#waitingCount >= this.#bounds.waiting && !this.#makeRoom(own)) return false
    this.#known.set(nameOf(item), { isInTime: true })
    this.#laneOf(item).add(tenantId, [item])
    this.#countWaiting(tenantId, 1)
    return true
  }

  /** The next attempt that may run. It occupies its place until `finish`, or until it is slow. */
  next(): Item | undefined {
    for (const lane of this.#lanes) {
      const free = Math.min(this.#bounds.atOnce - this.#occupied, lane.limit - lane.running)
      if (free <= 0) continue
      for (const [tenantId, items] of lane.waiting) {
        const item = this.#take(tenantId, items, free)
        if (item === undefined) continue
        // The tenant goes to the end of the turn, and so does the lane.
        lane.waiting.delete(tenantId)
        if (items.length > 0) lane.waiting.set(tenantId, items)
        this.#lanes = lane === this.#proven ? [this.#unproven, this.#proven] : [this.#proven, this.#unproven]
        lane.running++
        this.#known.set(nameOf(item), { lane, isInTime: true })
        this.#countRunning(item, 1)
        return item
      }
    }
    return undefined
  }

  /** The attempt has run for so long that its host is not proven any more. It gives up its place if it can. */
  slow(item: Item): void {
    const lane = this.#known.get(nameOf(item))?.lane
    if (lane === undefined) return
    if (this.#provenHosts.delete(hostOf(item))) this.#move(item, this.#proven, this.#unproven)
    const isMoved = this.#slowCount < this.#bounds.slow
    this.#known.set(nameOf(item), { ...(isMoved ? {} : { lane }), isInTime: false })
    if (!isMoved) return
    lane.running--
    this.#slowCount++
  }

  finish(item: Item): void {
    const place = this.#known.get(nameOf(item))
    if (place === undefined) return
    this.#known.delete(nameOf(item))
    if (place.lane === undefined) this.#slowCount--
    else place.lane.running--
    this.#countRunning(item, -1)
    if (place.isInTime) this.#prove(item)
  }

  get #occupied(): number {
    return this.#proven.running + this.#unproven.running
  }

  #laneOf(item: Item): Lane<Item> {
    return this.#provenHosts.has(hostOf(item)) ? this.#proven : this.#unproven
  }

  #prove(item: Item): void {
    const host = hostOf(item)
    if (!this.#provenHosts.delete(host)) this.#move(item, this.#unproven, this.#proven)
    this.#provenHosts.add(host)
    if (this.#provenHosts.size <= provenKept) return
    const [oldest] = this.#provenHosts
    if (oldest !== undefined) this.#provenHosts.delete(oldest)
  }

  /** The waiting attempts for this host of this tenant follow its lane. */
  #move({ tenantId, host }: Item, from: Lane<Item>, to: Lane<Item>): void {
    const items = from.waiting.get(tenantId) ?? []
    const moved = items.filter((one) => one.host === host)
    if (moved.length === 0) return
    const left = items.filter((one) => one.host !== host)
    if (left.length > 0) from.waiting.set(tenantId, left)
    else from.waiting.delete(tenantId)
    to.add(tenantId, moved)
  }

  /** A tenant may have only as many attempts as there are free places, so the next tenant always finds one. */
  #take(tenantId: string, items: Array<Item>, free: number): Item | undefined {
    const { atOncePerTenant, atOncePerHost } = this.#bounds
    if ((this.#running.get(tenantId) ?? 0) >= Math.min(atOncePerTenant, free)) return undefined
    const index = items
      .slice(0, lookedAt)
      .findIndex((item) => (this.#running.get(hostOf(item)) ?? 0) < atOncePerHost)
    if (index < 0) return undefined
    this.#countWaiting(tenantId, -1)
    return items.splice(index, 1)[0]
  }

  /** In a full queue, the last attempt of the tenant with the most makes room for a tenant that has fewer. */
  #makeRoom(own: number): boolean {
    let [most, tenantId] = [own + 1, ""]
    for (const [name, count] of this.#waitingOfTenant) if (count > most) [most, tenantId] = [count, name]
    const lane = [this.#unproven, this.#proven].find(({ waiting }) => waiting.has(tenantId))
    const items = lane?.waiting.get(tenantId)
    const dropped = items?.pop()
    if (dropped === undefined) return false
    if (items?.length === 0) lane?.waiting.delete(tenantId)
    this.#known.delete(nameOf(dropped))
    this.#countWaiting(tenantId, -1)
    return true
  }

  #countWaiting(tenantId: string, change: 1 | -1): void {
    this.#waitingCount += change
    add(this.#waitingOfTenant, tenantId, change)
  }

  #countRunning(item: Item, change: 1 | -1): void {
    for (const name of [item.tenantId, hostOf(item)]) add(this.#running, name, change)
  }
}

const add = (counts: Map<string, number>, name: string, change: 1 | -1): void => {
  const count = (counts.get(name) ?? 0) + change
  if (count > 0) counts.set(name, count)
  else counts.delete(name)
}

const nameOf = ({ tenantId, attemptId }: Turn): string => `${tenantId}/${attemptId}`
const hostOf = ({ tenantId, host }: Turn): string => `${tenantId}/${host}`
