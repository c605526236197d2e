// Publishes messages with many in flight at once, on one channel, and resolves a call when the broker has confirmed each
// of its messages. A lost connection fails every call in flight at once; its messages may or may not have arrived. A
// call that comes while there is no channel waits for one, within the same time limit, and is sent once. The publisher
// never resends by itself.
//
// A confirmed message is in every queue that it was routed to. If that is no queue at all, the broker drops the message
// and confirms it. Messages that must not get lost this way are sent as mandatory: the broker gives them back first.
//
// One timer of the runtime handles all timeouts, because the broker's time is real time, and a timer for each call would
// cost as much as sending it.
import { Effect, type Scope } from "effect"
import type { ConfirmChannel, Options } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { PublishError } from "../Bus.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"
import { rabbitFailureText } from "./RabbitFailure.ts"

export interface RabbitOutgoing {
  readonly exchange: string
  readonly routingKey: string
  readonly bytes: Uint8Array
  readonly properties: Options.Publish
  /** The message must reach at least one queue. */
  readonly isMandatory: boolean
}

/** How many messages a call sends before it waits for the first answer. A longer call is sent in parts. */
const outstandingPerCall = 1_000
/** The limit over all calls. Beyond it, calls fail with an error that is not permanent. */
const outstandingInAll = 50_000
/** The default limit of the newest servers. The server closes the channel on a larger message than it accepts. */
export const messageBytesMax = 16 * 1_024 * 1_024
const firstPauseMs = 100
const longestPauseMs = 2_000

interface Call {
  readonly outgoing: ReadonlyArray<RabbitOutgoing>
  readonly resume: (effect: Effect.Effect<void, PublishError>) => void
  isSent: boolean
  answered: number
  isOver: boolean
  readonly failsAtMs: number
}

export class RabbitPublisher {
  readonly #connection: RabbitConnection
  readonly #timeoutMs: number
  readonly #prepare: () => Promise<void>
  #channel: ConfirmChannel | undefined
  #isOpening = false
  #isClosed = false
  #pauseMs = firstPauseMs
  readonly #waiting = new Set<Call>()
  /** All open calls, oldest first. Each has the same time limit, so the first one expires first. */
  readonly #calls = new Set<Call>()
  /** How often the broker gave a message of this id back, before it confirmed the message. */
  readonly #returned = new Map<string, number>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #outstanding = 0
  readonly #suspicions = new Set<() => void>()

  private constructor(connection: RabbitConnection, timeoutMs: number, prepare: () => Promise<void>) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
    this.#prepare = prepare
  }

  /** `prepare` declares what messages are published to. It runs again whenever the broker closed the channel. */
  static make(
    connection: RabbitConnection,
    timeoutMs: number,
    prepare: Effect.Effect<void, unknown>,
  ): Effect.Effect<RabbitPublisher, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        const publisher = new RabbitPublisher(connection, timeoutMs, () => Effect.runPromise(prepare))
        const forget = connection.listen({
          onLost: () => publisher.#loseChannel("the connection was lost before the broker answered"),
          onRegained: () => publisher.#open(),
        })
        publisher.#open()
        return { publisher, forget }
      }),
      ({ publisher, forget }) =>
        Effect.sync(() => {
          forget()
          publisher.#isClosed = true
          clearTimeout(publisher.#timer)
          for (const call of [...publisher.#calls]) publisher.#fail(call, "the bus is closed")
        }),
    ).pipe(Effect.map(({ publisher }) => publisher))
  }

  /**
   * Calls the listener when something on the broker may be missing: an exchange, or the queues behind it. Returns the
   * function that removes the listener.
   */
  onSuspicion(listener: () => void): () => void {
    this.#suspicions.add(listener)
    return () => void this.#suspicions.delete(listener)
  }

  /** Publishes in the order given. */
  publish(outgoing: ReadonlyArray<RabbitOutgoing>): Effect.Effect<void, PublishError> {
    if (outgoing.length <= outstandingPerCall) return this.#publishPart(outgoing)
    const self = this
    return Effect.gen(function* () {
      for (let from = 0; from < outgoing.length; from += outstandingPerCall) {
        yield* self.#publishPart(outgoing.slice(from, from + outstandingPerCall))
      }
    })
  }

  #publishPart(outgoing: ReadonlyArray<RabbitOutgoing>): Effect.Effect<void, PublishError> {
    if (outgoing.length === 0) return Effect.void
    return Effect.callback((resume) => {
      const refusal = this.#refusal(outgoing)
      if (refusal !== undefined) {
        resume(Effect.fail(refusal))
        return undefined
      }
      const failsAtMs = performance.now() + this.#timeoutMs
      const call: Call = { outgoing, resume, isSent: false, answered: 0, isOver: false, failsAtMs }
      this.#outstanding += outgoing.length
      this.#calls.add(call)
      this.#timer ??= setTimeout(() => this.#failLate(), this.#timeoutMs)
      if (this.#channel !== undefined && this.#waiting.size === 0) this.#send(this.#channel, call)
      else this.#waiting.add(call)
      return Effect.sync(() => this.#forget(call))
    })
  }

  #refusal(outgoing: ReadonlyArray<RabbitOutgoing>): PublishError | undefined {
    if (this.#isClosed) return failed("the bus is closed")
    if (this.#outstanding + outgoing.length > outstandingInAll) {
      return failed(`${this.#outstanding} messages already wait for the broker's answer`)
    }
    const large = outgoing.find(({ bytes }) => bytes.length > messageBytesMax)
    return large === undefined
      ? undefined
      : new PublishError({
          message: `A message to ${large.exchange} has ${large.bytes.length} bytes. At most ${messageBytesMax} are possible.`,
          isPermanent: true,
        })
  }

  #open(): void {
    if (this.#isOpening || this.#isClosed || this.#channel !== undefined || !this.#connection.isConnected)
      return
    this.#isOpening = true
    this.#opened().then(
      () => {
        this.#isOpening = false
      },
      () => {
        this.#isOpening = false
        if (this.#connection.isConnected) this.#openLater()
      },
    )
  }

  #openLater(): void {
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(longestPauseMs, 2 * pauseMs)
    setTimeout(() => this.#open(), pauseMs)
  }

  async #opened(): Promise<void> {
    await this.#prepare()
    const channel = await this.#connection.confirmChannel()
    let why = "the broker closed the channel"
    channel.on("error", (error) => {
      why = rabbitFailureText(error)
    })
    channel.on("close", () => {
      if (this.#channel !== channel) return
      this.#loseChannel(why)
      if (!this.#connection.isConnected) return
      this.#openLater()
      this.#suspect()
    })
    channel.on("return", ({ properties }) => {
      const id = String(properties.messageId)
      this.#returned.set(id, (this.#returned.get(id) ?? 0) + 1)
    })
    this.#channel = channel
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const call of waiting) this.#send(channel, call)
  }

  #send(channel: ConfirmChannel, call: Call): void {
    call.isSent = true
    try {
      for (const message of call.outgoing) {
        const { exchange, routingKey, bytes, properties, isMandatory } = message
        const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
        channel.publish(
          exchange,
          routingKey,
          content,
          isMandatory ? { ...properties, mandatory: true } : properties,
          (error) => this.#receive(call, message, error),
        )
      }
    } catch (error) {
      // The client library cannot encode the message, or the channel has just ended.
      this.#end(
        call,
        Effect.fail(
          new PublishError({
            message: `RabbitMQ did not get a message: ${rabbitFailureText(error)}.`,
            isPermanent: error instanceof RangeError || error instanceof TypeError,
          }),
        ),
      )
    }
  }

  #receive(
    call: Call,
    { exchange, routingKey, properties, isMandatory }: RabbitOutgoing,
    error: unknown,
  ): void {
    if (isMandatory && this.#wasReturned(properties.messageId ?? "")) {
      this.#fail(call, `no group has a queue for ${routingKey} of the exchange ${exchange} yet`)
      this.#suspect()
    } else if (error !== null && error !== undefined) {
      // When the channel ends, the library calls this for every message. The event `close` knows the reason.
      if (!isChannelEnd(error))
        this.#fail(call, "a queue is full, or the broker cannot store the message now")
    } else {
      this.#pauseMs = firstPauseMs
      call.answered++
      if (call.answered === call.outgoing.length) this.#end(call, Effect.void)
    }
  }

  #suspect(): void {
    for (const listener of this.#suspicions) listener()
  }

  #wasReturned(id: string): boolean {
    const times = this.#returned.get(id)
    if (times === undefined) return false
    if (times === 1) this.#returned.delete(id)
    else this.#returned.set(id, times - 1)
    return true
  }

  /** Calls that wait for a channel keep waiting. */
  #loseChannel(why: string): void {
    this.#channel = undefined
    this.#returned.clear()
    for (const call of [...this.#calls]) if (call.isSent) this.#fail(call, why)
  }

  #failLate(): void {
    this.#timer = undefined
    const nowMs = performance.now()
    const late: Array<Call> = []
    for (const call of this.#calls) {
      if (call.failsAtMs > nowMs) {
        this.#timer = setTimeout(() => this.#failLate(), call.failsAtMs - nowMs)
        break
      }
      late.push(call)
    }
    const { blockedBecause } = this.#connection
    const why = blockedBecause === undefined ? "" : `; the broker accepts no messages now: ${blockedBecause}`
    for (const call of late) this.#fail(call, `no answer within ${this.#timeoutMs} ms${why}`)
  }

  #fail(call: Call, why: string): void {
    const mostBytes = /larger than configured max size (\d+)/.exec(why)?.[1]
    const isTooLarge =
      mostBytes !== undefined && call.outgoing.some(({ bytes }) => bytes.length > Number(mostBytes))
    this.#end(call, Effect.fail(isTooLarge ? failed(why, true) : failed(why)))
  }

  #end(call: Call, effect: Effect.Effect<void, PublishError>): void {
    if (call.isOver) return
    this.#forget(call)
    call.resume(effect)
  }

  #forget(call: Call): void {
    if (call.isOver) return
    call.isOver = true
    this.#calls.delete(call)
    this.#waiting.delete(call)
    this.#outstanding -= call.outgoing.length
  }
}

const isChannelEnd = (error: unknown): boolean => error instanceof Error && error.message === "channel closed"

const failed = (why: string, isPermanent = false): PublishError =>
  new PublishError({ message: `RabbitMQ did not accept a message: ${why}.`, isPermanent })
