// Messages that wait because of their tenant, for example because the tenant has used up a quota. They wait outside
// their lanes, so they hold up neither other tenants nor other messages of the same tenant. A message that waits uses up
// no delivery.
//
// After the pause, one message of the tenant asks the handler again. If the handler takes it, two more follow at once,
// and so on. If the handler postpones it again, the tenant waits again. So a tenant without room costs one call for each
// pause, no matter how many of its messages wait.
//
// The number and the bytes of the waiting messages are bounded, for each tenant and in all. A message beyond a bound
// does not wait here.

export interface WaitingBounds {
  readonly messages: number
  readonly messagesPerTenant: number
  readonly bytes: number
  readonly bytesPerTenant: number
}

/** Waiting messages do not count as held. So there may be as many as held ones, and a quarter of them of one tenant. */
export const waitingBounds = (heldAtMost: number): WaitingBounds => ({
  messages: heldAtMost,
  messagesPerTenant: Math.ceil(heldAtMost / 4),
  bytes: 16 * mebibyte,
  bytesPerTenant: 4 * mebibyte,
})

const mebibyte = 1_024 * 1_024

interface Tenant<Item> {
  readonly queue: Array<Item>
  /** Messages of the queue that ask the handler again now. */
  readonly asking: Set<Item>
  isPaused: boolean
  messages: number
  bytes: number
}

export class WaitingTenants<Item> {
  readonly #bounds: WaitingBounds
  readonly #byTenant = new Map<string, Tenant<Item>>()
  readonly #bytesOf = new Map<Item, number>()
  #bytes = 0

  constructor(bounds: WaitingBounds) {
    this.#bounds = bounds
  }

  get messages(): number {
    return this.#bytesOf.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Keeps a place for the message. Returns false if there is no room for it. A message that waited has its place. */
  reserve(name: string, item: Item, bytes: number): boolean {
    if (this.#bytesOf.has(item)) return true
    const { messages, messagesPerTenant, bytes: mostBytes, bytesPerTenant } = this.#bounds
    const known = this.#byTenant.get(name)
    const isFull =
      this.messages >= messages ||
      this.#bytes + bytes > mostBytes ||
      (known !== undefined && (known.messages >= messagesPerTenant || known.bytes + bytes > bytesPerTenant))
    if (isFull) return false
    const tenant = known ?? { queue: [], asking: new Set(), isPaused: false, messages: 0, bytes: 0 }
    if (known === undefined) this.#byTenant.set(name, tenant)
    tenant.messages++
    tenant.bytes += bytes
    this.#bytesOf.set(item, bytes)
    this.#bytes += bytes
    return true
  }

  /** The message waits from now on. Returns whether a pause of its tenant begins: then `resume` ends it. */
  wait(name: string, item: Item): boolean {
    const tenant = this.#byTenant.get(name)
    if (tenant === undefined) return false
    if (tenant.asking.delete(item)) tenant.queue.unshift(item)
    else tenant.queue.push(item)
    if (tenant.isPaused) return false
    tenant.isPaused = true
    return true
  }

  /** The pause of the tenant is over. Returns the message that asks the handler again. */
  resume(name: string): ReadonlyArray<Item> {
    const tenant = this.#byTenant.get(name)
    if (tenant === undefined) return []
    tenant.isPaused = false
    return takeFrom(tenant, 1)
  }

  /** The message is answered, and waits no more. Returns the messages of its tenant that may follow at once. */
  finish(name: string, item: Item): ReadonlyArray<Item> {
    const tenant = this.#byTenant.get(name)
    const bytes = this.#bytesOf.get(item)
    if (tenant === undefined || bytes === undefined) return []
    this.#bytesOf.delete(item)
    this.#bytes -= bytes
    tenant.messages--
    tenant.bytes -= bytes
    if (tenant.messages === 0) this.#byTenant.delete(name)
    // A message that is given back to the broker may end while it waits.
    const at = tenant.queue.indexOf(item)
    if (at >= 0) tenant.queue.splice(at, 1)
    const hasAsked = tenant.asking.delete(item)
    return hasAsked && !tenant.isPaused ? takeFrom(tenant, 2) : []
  }
}

const takeFrom = <Item>(tenant: Tenant<Item>, count: number): ReadonlyArray<Item> => {
  const taken = tenant.queue.splice(0, count)
  for (const item of taken) tenant.asking.add(item)
  return taken
}
