// Another service on RabbitMQ, which shares no code with the product.
import { randomUUID } from "node:crypto"
import { type ChannelModel, connect } from "../../drivers/rabbitmq/rabbitmq.ts"
import { eventually } from "./eventually.ts"
import { PlainPeer } from "./PlainPeer.ts"

/** The exchanges of the broker. */
export interface RabbitPlaces {
  readonly commands: string
  readonly events: string
}

export const rabbitPlaces = (prefix: string): RabbitPlaces => ({
  commands: `${prefix}.serviceCall`,
  events: `${prefix}.serviceCall`,
})

export class PlainRabbitClient extends PlainPeer {
  readonly #place: { readonly hostname: string; readonly port: number }
  readonly #places: RabbitPlaces
  /** Its own queue. */
  readonly queue = `listener-${randomUUID()}`
  #client: Promise<ChannelModel> | undefined
  #isClosing = false

  constructor(address: string, places: RabbitPlaces) {
    super()
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
      this.note({
        subject: `${message.fields.exchange} ${message.fields.routingKey}`,
        messageId: String(message.properties.messageId),
        storedAtMs: Date.now(),
        headers: Object.fromEntries(
          Object.entries(message.properties.headers ?? {}).map(([name, value]) => [name, String(value)]),
        ),
        text: message.content.toString(),
      })
    })
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
