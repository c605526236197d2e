// Reads the queue of undeliverable messages. A queue cannot be looked at: whoever reads it takes its messages, and gives
// them back at the end. So a reading takes all messages, and one reading runs at a time, over all processes. The lock is
// a queue that only one connection may have. A reading stays open for a moment after its last use, because people and
// programs ask several times in a row.
//
// The broker appends what a reading gives back in another order, so the messages are sorted by the time of their storing.
import { Effect } from "effect"
import type { Channel, ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { BusError } from "../Bus.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"
import { replyCodeOf, replyCodes } from "./RabbitFailure.ts"
import type { RabbitNames } from "./RabbitNames.ts"

export interface KeptMessage {
  readonly id: string
  readonly storedAt: number
  readonly tenant: string
  readonly message: ConsumeMessage
}

/** The messages, while nobody else can read them. */
export interface Reading {
  /** Oldest first. */
  all(): ReadonlyArray<KeptMessage>
  find(tenant: string, id: string): KeptMessage | undefined
  /** Resolves when the broker has removed it. */
  remove(kept: KeptMessage): Promise<void>
}

/** The limits of one reading. Messages beyond them appear when earlier ones have been removed. */
const messagesAtMost = 10_000
const bytesAtMost = 128 * 1_024 * 1_024
const idleMs = 500
const openAtMostMs = 10_000
const lockWithinMs = 15_000
const lockPauseMs = 50
const silentMs = 2_000
const askEveryMs = 5
/** How long a known oldest message counts without a new reading. */
const oldestFreshMs = 60_000

type Place = Omit<KeptMessage, "message">

export class KeptMessages {
  readonly #connection: RabbitConnection
  readonly #names: RabbitNames
  readonly #placeOf: (message: ConsumeMessage) => Place | undefined
  #reading: OpenReading | undefined
  #idle: ReturnType<typeof setTimeout> | undefined
  /** Uses run one after the other. */
  #last: Promise<unknown> = Promise.resolve()
  #oldest: { readonly at: number | undefined; readonly count: number; readonly seenAtMs: number } | undefined

  constructor(
    connection: RabbitConnection,
    names: RabbitNames,
    placeOf: (message: ConsumeMessage) => Place | undefined,
  ) {
    this.#connection = connection
    this.#names = names
    this.#placeOf = placeOf
  }

  use<A>(work: (reading: Reading) => Promise<A>): Effect.Effect<A, BusError> {
    return Effect.tryPromise({
      try: () => this.#inTurn(work),
      catch: (error) =>
        error instanceof BusError
          ? error
          : this.#connection.refused("reading the undeliverable messages", error),
    })
  }

  /** Asks only for the number of messages, unless that has changed. */
  get oldestAt(): Effect.Effect<number | undefined, BusError> {
    return Effect.flatMap(
      this.#connection.ask("counting the undeliverable messages", (channel) =>
        channel.checkQueue(this.#names.undeliverable),
      ),
      ({ messageCount, consumerCount }) => {
        const known = this.#oldest
        // A reading of another process has the messages while it is open.
        if (messageCount === 0 && consumerCount === 0) {
          return Effect.undefined
        }
        const isFresh = known !== undefined && performance.now() - known.seenAtMs < oldestFreshMs
        if (isFresh && known.count === messageCount && consumerCount === 0) {
          return Effect.succeed(known.at)
        }
        return this.use(async (reading) => {
          const all = reading.all()
          const at = all[0]?.storedAt
          this.#oldest = { at, count: all.length, seenAtMs: performance.now() }
          return at
        })
      },
    )
  }

  get close(): Effect.Effect<void> {
    return Effect.promise(() => this.#last.then(() => this.#end()).catch(() => {}))
  }

  #inTurn<A>(work: (reading: Reading) => Promise<A>): Promise<A> {
    const turn = this.#last.then(async () => {
      clearTimeout(this.#idle)
      const reading = await this.#open()
      try {
        return await work(reading)
      } finally {
        if (reading.isOlderThan(openAtMostMs)) await this.#end()
        else this.#idle = setTimeout(() => void this.#inLine(() => this.#end()), idleMs)
      }
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  #inLine(work: () => Promise<void>): Promise<unknown> {
    this.#last = this.#last.then(work).catch(() => {})
    return this.#last
  }

  async #open(): Promise<OpenReading> {
    if (this.#reading?.isOpen === true) return this.#reading
    await this.#lock()
    this.#reading = await OpenReading.begin(this.#connection, this.#names.undeliverable, this.#placeOf)
    return this.#reading
  }

  /** A queue that only this connection may have. */
  async #lock(): Promise<void> {
    const deadline = performance.now() + lockWithinMs
    for (;;) {
      const channel = await this.#connection.channel()
      try {
        await channel.assertQueue(this.#names.undeliverableLock, { exclusive: true, autoDelete: true })
        await channel.close()
        return
      } catch (error) {
        if (replyCodeOf(error) !== replyCodes.resourceLocked) throw error
        if (performance.now() > deadline) {
          throw new BusError({
            message: "Another process reads the undeliverable messages. Try again later.",
          })
        }
        await new Promise((resolve) => setTimeout(resolve, lockPauseMs))
      }
    }
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idle)
    const reading = this.#reading
    this.#reading = undefined
    if (reading === undefined) return
    await reading.end()
    if (!this.#connection.isConnected) return
    const channel = await this.#connection.channel()
    await channel.deleteQueue(this.#names.undeliverableLock).catch(() => {})
    await channel.close().catch(() => {})
  }
}

class OpenReading implements Reading {
  readonly #channel: Channel
  readonly #queue: string
  readonly #byId = new Map<string, KeptMessage>()
  readonly #openedAtMs = performance.now()
  #sorted: ReadonlyArray<KeptMessage> | undefined
  #received = 0
  #bytes = 0
  #isOpen = true
  #consumerTag = ""

  private constructor(channel: Channel, queue: string) {
    this.#channel = channel
    this.#queue = queue
    channel.on("close", () => {
      this.#isOpen = false
    })
  }

  /** Takes every message that the queue has now, within the limits, and those that come later. */
  static async begin(
    connection: RabbitConnection,
    queue: string,
    placeOf: (message: ConsumeMessage) => Place | undefined,
  ): Promise<OpenReading> {
    const channel = await connection.channel()
    const reading = new OpenReading(channel, queue)
    const { messageCount } = await channel.checkQueue(queue)
    await channel.prefetch(messagesAtMost)
    const { consumerTag } = await channel.consume(queue, (message) => {
      if (message !== null) reading.#take(message, placeOf(message))
    })
    reading.#consumerTag = consumerTag
    await reading.#receivedAll(Math.min(messageCount, messagesAtMost))
    return reading
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  isOlderThan(ageMs: number): boolean {
    return performance.now() - this.#openedAtMs > ageMs
  }

  all(): ReadonlyArray<KeptMessage> {
    this.#sorted ??= [...this.#byId.values()].sort(
      (a, b) => a.storedAt - b.storedAt || (a.id < b.id ? -1 : 1),
    )
    return this.#sorted
  }

  find(tenant: string, id: string): KeptMessage | undefined {
    const kept = this.#byId.get(id)
    return kept?.tenant === tenant ? kept : undefined
  }

  async remove(kept: KeptMessage): Promise<void> {
    this.#channel.ack(kept.message)
    // The broker answers a request only after the acknowledgement that came before it.
    await this.#channel.checkQueue(this.#queue)
    this.#byId.delete(kept.id)
    this.#sorted = undefined
  }

  async end(): Promise<void> {
    this.#isOpen = false
    await this.#channel.close().catch(() => {})
  }

  #take(message: ConsumeMessage, place: Place | undefined): void {
    this.#received++
    // Other programs may have put something else into the queue. It stays there.
    if (place === undefined) return
    // The same message was stored twice, because an answer of the broker was lost.
    if (this.#byId.has(place.id)) {
      this.#channel.ack(message)
      return
    }
    this.#byId.set(place.id, { ...place, message })
    this.#sorted = undefined
    const had = this.#bytes
    this.#bytes += message.content.length
    if (this.#bytes > bytesAtMost && had <= bytesAtMost) {
      void this.#channel.cancel(this.#consumerTag).catch(() => {})
    }
  }

  async #receivedAll(count: number): Promise<void> {
    let [seen, seenAtMs] = [this.#received, performance.now()]
    while (this.#received < count && this.#bytes <= bytesAtMost && this.#isOpen) {
      await new Promise((resolve) => setTimeout(resolve, askEveryMs))
      if (this.#received > seen) [seen, seenAtMs] = [this.#received, performance.now()]
      else if (performance.now() - seenAtMs > silentMs) return
    }
  }
}
