// A queue for each tenant of a group. Nobody tells the group which tenants there are, so it learns them from messages.
//
// The group's exchange sends a message of a tenant without a queue to the queue of new tenants. The member that reads it
// declares the tenant's queue, so that later messages go there. Earlier messages of the tenant may still be in the queue
// of new tenants, and must be handled first. So the member puts a marker behind them. When the marker comes out, and all
// earlier messages of the tenant are answered, the member writes the tenant's name into a stream. All members follow the
// stream from its start, and consume the queues of the tenants in it. If a member ends in between, the next one finds
// the same messages and does the same.
import { Option } from "effect"
import type { Channel } from "../../../drivers/rabbitmq/rabbitmq.ts"
import type { GroupQueues, QueuePart } from "./GroupQueues.ts"
import type { QueueDelivery } from "./QueueReader.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"
import { isTenant, type RabbitNames, tenantOfRoutingKey } from "./RabbitNames.ts"
import type { RabbitPublisher } from "./RabbitPublisher.ts"
import { TenantMarkers } from "./TenantMarkers.ts"
import { declareTenant, type GroupLayout, newTenantsQueue, tenantsStream } from "./Topology.ts"

/** Beyond this number, messages of further tenants stay in the queue of new tenants, and are handled from there. */
export const tenantQueuesMax = 2_000
/** How many channels share the queues of the tenants. A channel is what a member hands over. */
const channels = 16
const tenantPrefetch = 10
const newTenantsPrefetch = 250
const streamPrefetch = 500

export class TenantQueues implements GroupQueues {
  readonly parts: ReadonlyArray<QueuePart>
  readonly #names: RabbitNames
  readonly #layout: GroupLayout
  readonly #newTenants: string
  readonly #stream: string
  readonly #connection: RabbitConnection
  readonly #markers: TenantMarkers
  /** Tenants whose queue is consumed. */
  readonly #known = new Set<string>()
  #listener: (part: number, queue: string) => void = () => {}
  #following: Channel | undefined
  #isStopped = false

  constructor(
    connection: RabbitConnection,
    publisher: RabbitPublisher,
    names: RabbitNames,
    layout: GroupLayout,
  ) {
    this.#connection = connection
    this.#names = names
    this.#layout = layout
    this.#newTenants = newTenantsQueue(names, layout.group)
    this.#stream = tenantsStream(names, layout.group)
    this.#markers = new TenantMarkers(publisher, { queue: this.#newTenants, stream: this.#stream })
    this.parts = [
      { queues: [this.#newTenants], prefetch: newTenantsPrefetch },
      ...Array.from({ length: channels }, () => ({ queues: [], prefetch: tenantPrefetch })),
    ]
  }

  *known(): Iterable<string> {
    yield this.#newTenants
    for (const tenant of this.#known) yield this.#names.tenantQueue(this.#layout.group, tenant)
  }

  onAdded(listener: (part: number, queue: string) => void): void {
    this.#listener = listener
  }

  async follow(connection: RabbitConnection): Promise<void> {
    if (this.#following !== undefined) return
    const channel = await connection.channel()
    channel.on("close", () => {
      if (this.#following === channel) this.#following = undefined
    })
    await channel.prefetch(streamPrefetch)
    await channel.consume(
      this.#stream,
      (message) => {
        if (message === null) return
        channel.ack(message)
        this.#learn(message.content.toString())
      },
      { arguments: { "x-stream-offset": "first" } },
    )
    this.#following = channel
  }

  handled(delivery: QueueDelivery): Option.Option<Promise<boolean>> {
    if (delivery.queue !== this.#newTenants) return Option.none()
    const marked = this.#markers.tenantOfMarker(delivery.message)
    if (marked !== undefined) return Option.some(this.#markers.passed(marked))
    const tenant = tenantOfRoutingKey(delivery.message.fields.routingKey)
    if (isTenant(tenant)) {
      this.#markers.begin(tenant)
      if (!this.#markers.isMarked(tenant) && this.#known.size < tenantQueuesMax) this.#make(tenant)
    }
    return Option.none()
  }

  ownMessages(): number {
    return this.#markers.count
  }

  answered({ queue, message }: QueueDelivery): void {
    if (queue === this.#newTenants) this.#markers.end(tenantOfRoutingKey(message.fields.routingKey))
  }

  stop(): void {
    this.#isStopped = true
    this.#markers.stop()
    void this.#following?.close().catch(() => {})
  }

  /** Declares the queue, and puts a marker behind the messages that came before it. */
  #make(tenant: string): void {
    const declared = this.#connection.channel().then(async (channel) => {
      try {
        await declareTenant(channel, this.#names, this.#layout, tenant)
      } finally {
        await channel.close().catch(() => {})
      }
    })
    this.#markers.mark(tenant, declared)
  }

  #learn(tenant: string): void {
    if (this.#isStopped || !isTenant(tenant) || this.#known.has(tenant)) return
    if (this.#known.size >= tenantQueuesMax) return
    this.#known.add(tenant)
    this.#listener(1 + partOf(tenant), this.#names.tenantQueue(this.#layout.group, tenant))
  }
}

/** The same on every member, so that a channel is handed over with the same queues. */
const partOf = (tenant: string): number => {
  let hash = 0
  for (let at = 0; at < tenant.length; at++) hash = (hash * 31 + tenant.charCodeAt(at)) >>> 0
  return hash % channels
}
