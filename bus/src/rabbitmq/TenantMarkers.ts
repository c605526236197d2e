// The markers in the queue of new tenants, and the messages there that are not answered yet. See TenantQueues.ts.
import { Effect } from "effect"
import type { ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { headersOfMessage } from "./RabbitIncoming.ts"
import type { RabbitPublisher } from "./RabbitPublisher.ts"

const markerHeader = "Punctual-New-Tenant"

interface TenantState {
  unanswered: number
  isMarked: boolean
  /** Called when nothing of the tenant is unanswered. */
  readonly waiting: Array<() => void>
}

export class TenantMarkers {
  readonly #publisher: RabbitPublisher
  readonly #places: { readonly queue: string; readonly stream: string }
  /** Tenants with unanswered messages in the queue, or with a marker on its way. The prefetch bounds them. */
  readonly #tenants = new Map<string, TenantState>()
  #isStopped = false
  #count = 0

  constructor(publisher: RabbitPublisher, places: { readonly queue: string; readonly stream: string }) {
    this.#publisher = publisher
    this.#places = places
  }

  /** Markers of this process that are in the queue, or have come out and are not answered. */
  get count(): number {
    return this.#count
  }

  tenantOfMarker(message: ConsumeMessage): string | undefined {
    // Only the default exchange, which senders of messages do not use, has no name.
    const tenant = message.fields.exchange === "" ? headersOfMessage(message)[markerHeader] : undefined
    return typeof tenant === "string" ? tenant : undefined
  }

  isMarked(tenant: string): boolean {
    return this.#tenants.get(tenant)?.isMarked === true
  }

  /** A message of the tenant is at work. */
  begin(tenant: string): void {
    this.#of(tenant).unanswered++
  }

  /** A message of the tenant is answered. */
  end(tenant: string): void {
    const state = this.#tenants.get(tenant)
    if (state === undefined) return
    state.unanswered--
    if (state.unanswered > 0) return
    for (const resolve of state.waiting.splice(0)) resolve()
    if (!state.isMarked) this.#tenants.delete(tenant)
  }

  /** Puts the marker into the queue once the tenant has a queue of its own. A failure is retried by the next message. */
  mark(tenant: string, declared: Promise<void>): void {
    const state = this.#of(tenant)
    state.isMarked = true
    this.#count++
    declared
      .then(() => this.#publish(this.#places.queue, tenant, Buffer.alloc(0)))
      .catch(() => {
        state.isMarked = false
        this.#count--
      })
  }

  /** Markers that have come out are given back to the broker. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * The marker has come out: everything before it was delivered. Returns when the members can know the tenant's queue, or
   * false if the subscription ends first.
   */
  async passed(tenant: string): Promise<boolean> {
    try {
      return await this.#announced(tenant)
    } finally {
      if (this.#count > 0) this.#count--
    }
  }

  async #announced(tenant: string): Promise<boolean> {
    const state = this.#of(tenant)
    if (state.unanswered > 0) await new Promise<void>((resolve) => state.waiting.push(resolve))
    for (let pauseMs = 100; !this.#isStopped; pauseMs = Math.min(5_000, 2 * pauseMs)) {
      try {
        await this.#publish(this.#places.stream, tenant, Buffer.from(tenant))
        this.#tenants.delete(tenant)
        return true
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
    return false
  }

  #publish(queue: string, tenant: string, bytes: Uint8Array): Promise<void> {
    return Effect.runPromise(
      this.#publisher.publish([
        {
          exchange: "",
          routingKey: queue,
          bytes,
          properties: {
            persistent: true,
            messageId: `${queue} ${tenant}`,
            headers: { [markerHeader]: tenant },
          },
          isMandatory: true,
        },
      ]),
    )
  }

  #of(tenant: string): TenantState {
    const state = this.#tenants.get(tenant) ?? { unanswered: 0, isMarked: false, waiting: [] }
    this.#tenants.set(tenant, state)
    return state
  }
}
