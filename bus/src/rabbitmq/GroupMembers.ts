// Lets the members of a group share its queues. Every member waits at every queue, and the broker gives a queue to one
// consumer, so a member that comes later would get nothing until another one ends. Therefore it tells the others that it
// has come. Each of them hands over what exceeds its share, and says when it has done so.
//
// The members meet at a queue without messages: the number of its consumers is the number of members. The broker forgets
// a member whose connection is lost.
import type { Channel, ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"

export interface GroupMembersOptions {
  /** The name of the exchange and of the queue at which the members meet. */
  readonly place: string
  /** Hands over what exceeds the share of one of so many members. */
  makeRoom(members: number): Promise<void>
}

const answersWithinMs = 2_000

const words = { joined: "joined", madeRoom: "madeRoom" } as const

export class GroupMembers {
  readonly #connection: RabbitConnection
  readonly #options: GroupMembersOptions
  readonly #id = crypto.randomUUID()
  #channel: Channel | undefined
  #isMoving: Promise<void> = Promise.resolve()
  #onAnswer: () => void = () => {}

  constructor(connection: RabbitConnection, options: GroupMembersOptions) {
    this.#connection = connection
    this.#options = options
  }

  get hasJoined(): boolean {
    return this.#channel !== undefined
  }

  /** Resolves when the other members have made room, or after a while. */
  async join(): Promise<void> {
    const { place } = this.#options
    const channel = await this.#connection.channel()
    channel.on("close", () => {
      if (this.#channel === channel) this.#channel = undefined
    })
    await channel.assertExchange(place, "fanout", { autoDelete: true })
    await channel.assertQueue(place, { autoDelete: true })
    await channel.consume(place, () => {}, { noAck: true })
    const { queue } = await channel.assertQueue("", { exclusive: true, autoDelete: true })
    await channel.bindQueue(queue, place, "")
    await channel.consume(queue, (message) => this.#hear(channel, message), { noAck: true })
    this.#channel = channel
    const { consumerCount } = await channel.checkQueue(place)
    const others = consumerCount - 1
    if (others > 0) await this.#askForRoom(channel, others)
  }

  async leave(): Promise<void> {
    const channel = this.#channel
    this.#channel = undefined
    await channel?.close().catch(() => {})
  }

  #askForRoom(channel: Channel, others: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, answersWithinMs)
    let answers = 0
    this.#onAnswer = () => {
      answers++
      if (answers === others) resolve()
    }
    this.#say(channel, words.joined, "")
    return promise.finally(() => {
      clearTimeout(timer)
      this.#onAnswer = () => {}
    })
  }

  #hear(channel: Channel, message: ConsumeMessage | null): void {
    if (message === null) return
    const { type, messageId: from, correlationId: to } = message.properties
    if (type === words.madeRoom && to === this.#id) this.#onAnswer()
    if (type !== words.joined || from === this.#id || typeof from !== "string") return
    this.#isMoving = this.#isMoving
      .then(async () => {
        const { consumerCount } = await channel.checkQueue(this.#options.place)
        await this.#options.makeRoom(Math.max(1, consumerCount))
        this.#say(channel, words.madeRoom, from)
      })
      .catch(() => {
        // The connection is lost. This member joins again later.
      })
  }

  #say(channel: Channel, word: string, to: string): void {
    channel.publish(this.#options.place, "", Buffer.alloc(0), {
      type: word,
      messageId: this.#id,
      correlationId: to,
    })
  }
}
