// One delivery from the broker, and the answers to it. An answer that comes after its channel has ended is dropped: the
// broker has given the message to somebody else, or will.
//
// The broker counts how often it took a message back (`x-delivery-count`). A message that is retried is published again,
// with its earlier deliveries in a header of ours. The sum of both is the number of deliveries.
import { createHash } from "node:crypto"
import type { Effect } from "effect"
import type { Channel, ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import type { BusError } from "../Bus.ts"
import type { Incoming } from "../Incoming.ts"
import type { UndeliverableFacts } from "../Undeliverable.ts"
import type { QueueDelivery } from "./QueueReader.ts"
import { tenantOfRoutingKey } from "./RabbitNames.ts"

/** The deliveries of a message before it was published again for a retry. */
export const deliveriesHeader = "Punctual-Deliveries"
/** Present on a replayed message: the undeliverable message that it comes from. */
export const replayOfHeader = "Punctual-Replay-Of"

/** What a delivery needs from its subscription. */
export interface DeliveryAnswers {
  acknowledge(delivery: QueueDelivery): void
  giveBack(delivery: QueueDelivery): void
  retryIn(delivery: QueueDelivery, deliveries: number, delayMs: number): void
  setAside(delivery: QueueDelivery, tenant: string, facts: UndeliverableFacts): Effect.Effect<void, BusError>
}

export class RabbitIncoming implements Incoming {
  readonly bytes: Uint8Array
  readonly delivery: number
  readonly addressedTenant: string
  readonly messageKey: string
  readonly #origin: QueueDelivery
  readonly #answers: DeliveryAnswers

  constructor(origin: QueueDelivery, answers: DeliveryAnswers) {
    const { message } = origin
    this.bytes = message.content
    this.delivery = 1 + countIn(message, deliveriesHeader) + countIn(message, "x-delivery-count")
    this.addressedTenant = tenantOfRoutingKey(message.fields.routingKey)
    this.messageKey = messageKeyOf(message)
    this.#origin = origin
    this.#answers = answers
  }

  isFrom(channel: Channel): boolean {
    return this.#origin.channel === channel
  }

  acknowledge(): void {
    this.#answers.acknowledge(this.#origin)
  }

  redeliverIn(delayMs: number): void {
    if (delayMs > 0) this.#answers.retryIn(this.#origin, this.delivery, delayMs)
    else this.#answers.giveBack(this.#origin)
  }

  /** The broker waits as long as the channel is open. */
  keepWaiting(): void {}

  setAside(tenant: string, facts: UndeliverableFacts): Effect.Effect<void, BusError> {
    return this.#answers.setAside(this.#origin, tenant, facts)
  }
}

export const headersOfMessage = (message: ConsumeMessage): Readonly<Record<string, unknown>> =>
  message.properties.headers ?? {}

/** The same for every delivery of a message. Two copies of a message may have the same key, which does no harm. */
export const messageKeyOf = (message: ConsumeMessage): string => {
  const { messageId } = message.properties
  const replayOf = headersOfMessage(message)[replayOfHeader]
  const name = typeof messageId === "string" && messageId !== "" ? messageId : digestOf(message.content)
  return `${name} ${typeof replayOf === "string" ? replayOf : ""}`
}

export const digestOf = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part).update("\u0000")
  return hash.digest("hex").slice(0, 32)
}

/** A sender may put anything into a header. */
const countIn = (message: ConsumeMessage, name: string): number => {
  const value = headersOfMessage(message)[name]
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0
}
