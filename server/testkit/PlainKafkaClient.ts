// Another service on Kafka, which shares no code with the product.
import { randomUUID } from "node:crypto"
import { Consumer, Producer, stringDeserializers, stringSerializers } from "../../drivers/kafka/kafka.ts"
import { eventually } from "./eventually.ts"
import { PlainPeer } from "./PlainPeer.ts"

export interface KafkaPlaces {
  readonly commands: string
  readonly events: string
}

export class PlainKafkaClient extends PlainPeer {
  readonly #address: string
  readonly #places: KafkaPlaces
  #producer: ReturnType<typeof newProducer> | undefined
  #consumer: ReturnType<typeof newConsumer> | undefined
  #isClosing = false

  constructor(address: string, places: KafkaPlaces) {
    super()
    this.#address = address
    this.#places = places
  }

  /** Receives every event from the first one on, also after the broker was away. The topic must exist. */
  async listen(): Promise<void> {
    // A group of its own each time: the broker keeps a member that it lost in its group for a while, and others wait.
    const consumer = newConsumer(this.#address, `listener-${randomUUID()}`)
    this.#consumer = consumer
    try {
      const stream = await consumer.consume({
        autocommit: 100,
        topics: [this.#places.events],
        mode: "earliest",
        sessionTimeout: 10_000,
        heartbeatInterval: 500,
      })
      stream.on("data", (message) => this.#heard(message))
      stream.on("error", () => void this.#listenAgain(consumer))
    } catch (error) {
      await ended(consumer)
      throw error
    }
  }

  async #listenAgain(failed: ReturnType<typeof newConsumer>): Promise<void> {
    if (this.#isClosing || this.#consumer !== failed) return
    await ended(failed)
    await eventually("the listener is back", () =>
      this.#isClosing
        ? true
        : this.listen().then(
            () => true,
            () => undefined,
          ),
    )
  }

  #heard({ topic, key, value, headers, timestamp }: PlainMessage): void {
    const texts = Object.fromEntries([...headers].map(([name, text]) => [String(name), String(text)]))
    const messageId = texts["messageId"] ?? ""
    const storedAtMs = Number(timestamp)
    // The listener reads everything again after a failure.
    if (this.reached.some((one) => one.storedAtMs === storedAtMs && one.messageId === messageId)) return
    this.note({ subject: `${topic} ${key}`, messageId, storedAtMs, headers: texts, text: value })
  }

  /** Sends any text with the key. While the broker does not confirm it, it sends the text again. */
  async send(tenant: string, serviceCallId: string, text: string, id: string = randomUUID()): Promise<void> {
    const message = {
      topic: this.#places.commands,
      key: `${tenant}.${serviceCallId}`,
      value: text,
      headers: { messageId: id, tenantId: tenant },
    }
    await eventually(`the broker takes a message of ${tenant}`, async () => {
      this.#producer ??= newProducer(this.#address)
      const producer = this.#producer
      try {
        await producer.send({ messages: [message], acks: -1 })
        return true
      } catch {
        if (this.#producer === producer) this.#producer = undefined
        await ended(producer)
        return undefined
      }
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true
    await ended(this.#consumer)
    await ended(this.#producer)
  }
}

interface PlainMessage {
  readonly topic: string
  readonly key: string
  readonly value: string
  readonly headers: ReadonlyMap<string, string>
  readonly timestamp: bigint
}

const newProducer = (address: string) =>
  new Producer({
    clientId: "plain",
    bootstrapBrokers: [address],
    serializers: stringSerializers,
    retries: 1,
    retryDelay: 100,
  })

const newConsumer = (address: string, groupId: string) =>
  new Consumer({
    groupId,
    clientId: "plain",
    bootstrapBrokers: [address],
    deserializers: stringDeserializers,
    retries: 1,
    retryDelay: 100,
  })

const ended = async (client: { close(isForced: boolean): unknown } | undefined): Promise<void> => {
  try {
    await client?.close(true)
  } catch {
    // The broker is away.
  }
}
