// How much of a window each namespace holds. This decides whose backlog is read separately, and which namespace gives
// room back.
interface Tenant {
  entries: number
  /** Due but not started: ready or held. */
  due: number
  /** Started but not settled yet. */
  flying: number
}

export class Tenants {
  readonly #tenants = new Map<string, Tenant>()
  #dueInAll = 0

  /** Due but not started, over all namespaces. */
  get due(): number {
    return this.#dueInAll
  }

  entriesOf(namespace: string): number {
    return this.#tenants.get(namespace)?.entries ?? 0
  }

  dueOf(namespace: string): number {
    return this.#tenants.get(namespace)?.due ?? 0
  }

  /** The entries that take room. Running attempts do not. */
  atRestOf(namespace: string): number {
    const tenant = this.#tenants.get(namespace)
    return tenant === undefined ? 0 : tenant.entries - tenant.flying
  }

  addEntry(namespace: string): void {
    const tenant = this.#tenants.get(namespace)
    if (tenant === undefined) this.#tenants.set(namespace, { entries: 1, due: 0, flying: 0 })
    else tenant.entries++
  }

  removeEntry(namespace: string): void {
    const tenant = this.#tenants.get(namespace)
    if (tenant !== undefined && --tenant.entries === 0) this.#tenants.delete(namespace)
  }

  /** One of its entries became due, or is no longer due. */
  addDue(namespace: string, change: 1 | -1): void {
    const tenant = this.#tenants.get(namespace)
    if (tenant === undefined) return
    tenant.due += change
    this.#dueInAll += change
  }

  /** A due entry starts. */
  takeOff(namespace: string): void {
    const tenant = this.#tenants.get(namespace)
    if (tenant === undefined) return
    tenant.due--
    this.#dueInAll--
    tenant.flying++
  }

  land(namespace: string): void {
    const tenant = this.#tenants.get(namespace)
    if (tenant !== undefined) tenant.flying--
  }

  /** The namespace with the most due timers, among those that can give some up. `undefined` if there is none. */
  mostDue(): string | undefined {
    let most: string | undefined
    let mostDue = 0
    for (const [namespace, { due, entries, flying }] of this.#tenants) {
      if (due <= mostDue || entries - flying < 2) continue
      most = namespace
      mostDue = due
    }
    return most
  }
}
