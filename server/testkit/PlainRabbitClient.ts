// Another service on RabbitMQ, as its authors would write it: a client, JSON, and the words of the bus contract. It
// shares no code with the product, so it sees exactly what is on the wire.
import { randomUUID } from "node:crypto"
import { type Channel, type ChannelModel, connect } from "../../drivers/rabbitmq/rabbitmq.ts"
import { eventually } from "./eventually.ts"
import type { Cancelling, Heard, Scheduling } from "./PlainBusClient.ts"

/** The exchanges of the broker, and where the group of the service has its messages. */
export interface RabbitPlaces {
  readonly commands: string
  readonly events: string
  readonly groupQueues: ReadonlyArray<string>
}

export const rabbitPlaces = (prefix: string, queues = 8): RabbitPlaces => ({
  commands: `${prefix}.serviceCall`,
  events: `${prefix}.serviceCall`,
  groupQueues: Array.from({ length: queues }, (_, number) => `${prefix}:punctual:${number}`),
})

export class PlainRabbitClient implements AsyncDisposable {
  /** Every DueTimeReached, in the order in which the broker delivered them. */
  readonly reached: Array<Heard> = []
  readonly #place: { readonly hostname: string; readonly port: number }
  readonly #places: RabbitPlaces
  /** Its own queue. */
  readonly queue = `listener-${randomUUID()}`
  #client: Promise<ChannelModel> | undefined
  #isClosing = false

  constructor(address: string, places: RabbitPlaces) {
    const [hostname = "", port] = address.split(":")
    this.#place = { hostname, port: Number(port) }
    this.#places = places
  }

  /** Receives every event from now on, also after the broker was away. The exchange must exist. */
  async listen(): Promise<void> {
    const channel = await (await this.#connected()).createChannel()
    channel.on("error", () => {})
    channel.on("close", () => {
      if (!this.#isClosing) void this.listen().catch(() => {})
    })
    await channel.assertQueue(this.queue, {
      durable: true,
      arguments: { "x-queue-type": "quorum", "x-single-active-consumer": true },
    })
    await channel.bindQueue(this.queue, this.#places.events, "#")
    await channel.consume(this.queue, (message) => {
      if (message === null) return
      channel.ack(message)
      const text = message.content.toString()
      const envelope = parsed(text)
      if (envelope?.type !== "DueTimeReached") return
      this.reached.push({
        subject: `${message.fields.exchange} ${message.fields.routingKey}`,
        messageId: String(message.properties.messageId),
        storedAtMs: Date.now(),
        headers: Object.fromEntries(
          Object.entries(message.properties.headers ?? {}).map(([name, value]) => [name, String(value)]),
        ),
        envelope,
        text,
      })
    })
  }

  async schedule(scheduling: Scheduling): Promise<void> {
    const { tenant, serviceCallId, dueAtMs, correlationId, timestampMs = Date.now(), more } = scheduling
    const id = randomUUID()
    const head = { id, type: "ScheduleTimer", tenantId: tenant, aggregateId: serviceCallId, timestampMs }
    const payload = { tenantId: tenant, serviceCallId, dueAt: new Date(dueAtMs).toISOString(), ...more }
    await this.send(tenant, serviceCallId, JSON.stringify({ ...head, correlationId, payload }), id)
  }

  async cancel({ tenant, serviceCallId, timestampMs = Date.now() }: Cancelling): Promise<void> {
    const id = randomUUID()
    const head = { id, type: "CancelTimer", tenantId: tenant, aggregateId: serviceCallId, timestampMs }
    const text = JSON.stringify({ ...head, payload: { tenantId: tenant, serviceCallId } })
    await this.send(tenant, serviceCallId, text, id)
  }

  /** Sends any text with the routing key. While the broker does not confirm it, it sends the text again. */
  async send(tenant: string, serviceCallId: string, text: string, id: string = randomUUID()): Promise<void> {
    const properties = { persistent: true, messageId: id, contentType: "application/json" }
    await eventually(`the broker takes a message of ${tenant}`, async () => {
      try {
        const channel = await (await this.#connected()).createConfirmChannel()
        channel.on("error", () => {})
        channel.publish(this.#places.commands, `${tenant}.${serviceCallId}`, Buffer.from(text), properties)
        await channel.waitForConfirms()
        await channel.close()
        return true
      } catch {
        return undefined
      }
    })
  }

  reachedFor(serviceCallId: string): ReadonlyArray<Heard> {
    return this.reached.filter(({ envelope }) => envelope.aggregateId === serviceCallId)
  }

  /** Messages that wait in the queues of the service. */
  async waiting(): Promise<number> {
    const channel: Channel = await (await this.#connected()).createChannel()
    try {
      let waiting = 0
      for (const queue of this.#places.groupQueues) waiting += (await channel.checkQueue(queue)).messageCount
      return waiting
    } finally {
      await channel.close()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    await this.#client?.then((client) => client.close()).catch(() => {})
  }

  /** A broker that was just restarted may still refuse clients. */
  #connected(): Promise<ChannelModel> {
    this.#client ??= eventually("the client is connected", async () => {
      const client = await connect(this.#place).catch(() => undefined)
      client?.on("error", () => {})
      client?.on("close", () => {
        this.#client = undefined
      })
      return client
    })
    return this.#client
  }
}

const parsed = (text: string): Heard["envelope"] | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
