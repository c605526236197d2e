// Consumes some queues on a channel of its own. The channel is the unit that a member takes over and hands over: when a
// channel ends, the broker puts its unanswered messages back to the head of their queues, in order, and only then
// delivers to the next consumer. So the order of a key holds, if nothing of the channel is at work any more.
import type { Channel, ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"
import { rabbitFailureText } from "./RabbitFailure.ts"

export interface QueueReaderOptions {
  /** How many unanswered messages the broker gives this reader of each queue. */
  readonly prefetch: number
  onDelivery(delivery: QueueDelivery): void
  /** The channel is gone, and nobody has closed it here. */
  onLost(channel: Channel, why: string): void
}

/** A delivery is void once its channel has ended. */
export interface QueueDelivery {
  readonly reader: QueueReader
  readonly channel: Channel
  readonly queue: string
  readonly message: ConsumeMessage
}

export class QueueReader {
  readonly #connection: RabbitConnection
  readonly #options: QueueReaderOptions
  readonly #queues = new Set<string>()
  #channel: Channel | undefined
  /** The queues that the channel consumes. */
  #consumed = new Set<string>()
  #unanswered = 0
  #isActive = false
  #isLeaving = false

  constructor(connection: RabbitConnection, queues: Iterable<string>, options: QueueReaderOptions) {
    this.#connection = connection
    this.#options = options
    for (const queue of queues) this.#queues.add(queue)
  }

  get isOpen(): boolean {
    return this.#channel !== undefined && this.#consumed.size === this.#queues.size
  }

  /** Whether this reader gets the messages of its queues, as far as it knows. Otherwise it waits behind others. */
  get isActive(): boolean {
    return this.#isActive
  }

  /** Messages that the broker has delivered and that are not answered. */
  get unanswered(): number {
    return this.#unanswered
  }

  /** The queue is consumed after the next `open`. */
  add(queue: string): void {
    this.#queues.add(queue)
  }

  /** Consumes the queues that it does not consume yet. */
  async open(): Promise<void> {
    const channel = this.#channel ?? (await this.#newChannel())
    for (const queue of this.#queues) {
      if (this.#consumed.has(queue)) continue
      this.#consumed.add(queue)
      const { consumerCount } = await channel.checkQueue(queue)
      if (consumerCount === 0) this.#isActive = true
      await channel.consume(queue, (message) => this.#receive(channel, queue, message))
    }
  }

  /** Whether the delivery may be handled. It is void after its channel has ended, and while the reader leaves. */
  isCurrent({ channel }: QueueDelivery): boolean {
    return channel === this.#channel && !this.#isLeaving
  }

  /** Sends an answer, unless the channel of the delivery has ended. */
  answer({ channel }: QueueDelivery, say: (channel: Channel) => void): void {
    if (channel !== this.#channel) return
    this.#unanswered--
    try {
      say(channel)
    } catch {
      // The channel has just ended. The broker delivers the message again.
    }
  }

  /**
   * Hands the queues over to the next consumer that waits for them, and waits behind it. `giveBack` ends the work on
   * messages of this reader.
   */
  async leave(giveBack: (channel: Channel) => Promise<void>): Promise<void> {
    const channel = this.#channel
    if (channel === undefined) return
    this.#isLeaving = true
    try {
      await giveBack(channel)
      await this.close()
    } finally {
      this.#isLeaving = false
    }
    await this.open()
  }

  /** The broker takes back what is unanswered. */
  async close(): Promise<void> {
    const channel = this.#channel
    this.#forget()
    await channel?.close().catch(() => {})
  }

  async #newChannel(): Promise<Channel> {
    const channel = await this.#connection.channel()
    let why = "the channel was closed"
    channel.on("error", (error) => {
      why = rabbitFailureText(error)
    })
    channel.on("close", () => this.#lose(channel, why))
    await channel.prefetch(this.#options.prefetch)
    this.#channel = channel
    return channel
  }

  #receive(channel: Channel, queue: string, message: ConsumeMessage | null): void {
    if (channel !== this.#channel) return
    if (message === null) {
      // The queue was removed.
      void channel.close().catch(() => {})
      this.#lose(channel, `the queue ${queue} was removed`)
      return
    }
    this.#isActive = true
    this.#unanswered++
    this.#options.onDelivery({ reader: this, channel, queue, message })
  }

  #lose(channel: Channel, why: string): void {
    if (channel !== this.#channel) return
    this.#forget()
    this.#options.onLost(channel, why)
  }

  #forget(): void {
    this.#channel = undefined
    this.#consumed = new Set()
    this.#unanswered = 0
    this.#isActive = false
  }
}
