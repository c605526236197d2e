// Handles the messages of a group. The broker pushes messages, at most `prefetch` of each queue that are not answered.
// The intake gets them while it has room. The others wait here, unanswered.
//
// After every loss of a channel or of the connection the subscription checks its exchanges and queues again, recreates
// them if they are missing, and consumes again.
import { Effect, Latch, Option, type Scope } from "effect"
import type { Channel, ConsumeMessage } from "../../../drivers/rabbitmq/rabbitmq.ts"
import type { BusAbilities, BusError, Subscription } from "../Bus.ts"
import { type Intake, makeIntake } from "../Intake.ts"
import type { IntakeOptions } from "../IntakeOptions.ts"
import type { UndeliverableFacts } from "../Undeliverable.ts"
import { waitingBounds } from "../WaitingTenants.ts"
import { GroupMembers } from "./GroupMembers.ts"
import type { GroupQueues } from "./GroupQueues.ts"
import { type QueueDelivery, QueueReader } from "./QueueReader.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"
import { type DeliveryAnswers, RabbitIncoming } from "./RabbitIncoming.ts"

/** Redeliveries are timed by queues of our own. The broker counts what it took back. */
export const rabbitAbilities: BusAbilities = {
  delays: true,
  dropsRepeats: false,
  retriesInOrder: false,
  countsUnanswered: true,
  listsUndeliverable: true,
}

export interface RabbitSubscriptionOptions {
  readonly intake: IntakeOptions
  /** The name of the place where the members of the group meet. */
  readonly meetingPlace: string
  /** Creates what is missing on the broker, and fails on settings that contradict the contract. */
  readonly setUp: Effect.Effect<void, BusError>
  /** The queues of the group, in parts that a member takes over together. */
  readonly queues: GroupQueues
  /** Calls the listener when something of the group may be missing on the broker. */
  onSuspicion(listener: () => void): () => void
  /** Publishes the message again after the delay. Resolves when the broker has it. */
  retry(message: ConsumeMessage, deliveries: number, delayMs: number): Promise<void>
  setAside(message: ConsumeMessage, tenant: string, facts: UndeliverableFacts): Effect.Effect<void, BusError>
}

const firstPauseMs = 100
const longestPauseMs = 5_000
const closeWithinMs = 2_000

/** Handles messages until the scope closes. Returns how many messages this process has and has not answered. */
export const subscribeRabbit = Effect.fn("RabbitSubscription.subscribe")(function* (
  connection: RabbitConnection,
  subscription: Subscription,
  options: RabbitSubscriptionOptions,
): Effect.fn.Return<() => number, BusError, Scope.Scope> {
  yield* options.setUp
  const intake = yield* makeIntake(subscription, options.intake, rabbitAbilities)
  const consumer = new GroupConsumer(connection, intake, options)
  const trust = options.onSuspicion(() => consumer.suspect())
  const forget = connection.listen({
    onLost: () => consumer.noteChange(),
    onRegained: () => consumer.noteChange(),
  })
  yield* consumer.openAll.pipe(
    Effect.mapError((error) => connection.refused(`subscribing the group ${subscription.group}`, error)),
  )
  yield* Effect.forkScoped(consumer.feed)
  yield* Effect.forkScoped(consumer.run)
  // Added after the forks, so that it runs first. From here on the subscription takes nothing and starts nothing.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      forget()
      trust()
      consumer.stop()
    }).pipe(Effect.andThen(intake.close), Effect.andThen(consumer.close)),
  )
  return () => consumer.unanswered
})

/**
 * Room for twice the messages that the intake holds, because postponed messages stay unanswered. A queue has room for
 * more than the postponed messages of one tenant, so that one tenant without quota does not block a queue.
 */
export const prefetchOf = (intake: IntakeOptions, queues: number): number => {
  const { messagesPerTenant } = waitingBounds(intake.heldAtMost)
  const share = Math.ceil((2 * intake.heldAtMost) / queues)
  return Math.min(maxPrefetch, Math.max(share, Math.ceil(1.2 * messagesPerTenant), 1))
}

const maxPrefetch = 2_000

class GroupConsumer implements DeliveryAnswers {
  readonly #intake: Intake
  readonly #options: RabbitSubscriptionOptions
  readonly #readers: ReadonlyArray<QueueReader>
  readonly #members: GroupMembers
  readonly #connection: RabbitConnection
  /** Deliveries that wait for room in the intake, oldest first. The prefetch of all queues bounds them. */
  #waiting: Array<QueueDelivery> = []
  readonly #arrived = Latch.makeUnsafe(false)
  readonly #changed = Latch.makeUnsafe(false)
  #trouble: string | undefined
  #isStopped = false
  #isSuspect = false
  #pauseMs = 0

  constructor(connection: RabbitConnection, intake: Intake, options: RabbitSubscriptionOptions) {
    this.#connection = connection
    this.#intake = intake
    this.#options = options
    this.#readers = options.queues.parts.map(
      ({ queues, prefetch }) =>
        new QueueReader(connection, queues, {
          prefetch,
          onDelivery: (delivery) => this.#receive(delivery),
          onLost: (channel, why) => {
            if (connection.isConnected) this.#trouble = why
            // What has not been started is delivered again, so it need not be handled here, too.
            void this.#giveBackAll(channel)
            this.noteChange()
          },
        }),
    )
    options.queues.onAdded((part, queue) => {
      this.#readers[part]?.add(queue)
      this.noteChange()
    })
    this.#members = new GroupMembers(connection, {
      place: options.meetingPlace,
      makeRoom: (members) => this.#makeRoom(members),
    })
  }

  get unanswered(): number {
    let unanswered = 0
    for (const reader of this.#readers) unanswered += reader.unanswered
    return unanswered
  }

  noteChange(): void {
    this.#changed.openUnsafe()
  }

  /** Something may be missing on the broker, although the channels are open. */
  suspect(): void {
    this.#isSuspect = true
    this.#changed.openUnsafe()
  }

  get openAll(): Effect.Effect<void, unknown> {
    return Effect.tryPromise({
      try: async () => {
        for (const reader of this.#readers) if (!reader.isOpen) await reader.open()
        await this.#options.queues.follow(this.#connection)
        if (!this.#members.hasJoined) await this.#members.join()
      },
      catch: (error) => error,
    })
  }

  /** Opens again whatever was lost. */
  get run(): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        yield* self.#changed.await
        self.#changed.closeUnsafe()
        yield* self.#connection.awaitConnected
        if (self.#trouble !== undefined) {
          yield* Effect.logWarning(`reading from RabbitMQ was interrupted: ${self.#trouble}`)
          self.#trouble = undefined
          yield* Effect.sleep(self.#nextPauseMs())
        }
        if (self.#isComplete && !self.#isSuspect) continue
        if (self.#isSuspect) yield* Effect.sleep(self.#nextPauseMs())
        self.#isSuspect = false
        const opened = yield* Effect.result(Effect.andThen(self.#options.setUp, self.openAll))
        if (opened._tag === "Failure" && self.#connection.isConnected) {
          const why = opened.failure
          const text = why instanceof Error ? why.message : String(why)
          yield* Effect.logWarning(`reading from RabbitMQ cannot continue yet: ${text}`)
          yield* Effect.sleep(self.#nextPauseMs())
          self.noteChange()
        }
      }
    })
  }

  /** Gives waiting deliveries to the intake when it has room. */
  get feed(): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        yield* self.#arrived.await
        yield* self.#intake.awaitRoom(1)
        self.#feedNow()
      }
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#waiting = []
    this.#options.queues.stop()
  }

  /** Acknowledgements that were sent arrive before the end of their channel. The broker takes the rest back. */
  get close(): Effect.Effect<void> {
    return Effect.asVoid(
      Effect.timeoutOption(
        Effect.promise(() =>
          Promise.allSettled([this.#members.leave(), ...this.#readers.map((reader) => reader.close())]),
        ),
        closeWithinMs,
      ),
    )
  }

  acknowledge(delivery: QueueDelivery): void {
    this.#pauseMs = 0
    this.#answer(delivery, (channel) => channel.ack(delivery.message))
  }

  /** While the reader or the subscription ends, a message goes back with its channel, and so in the right order. */
  giveBack(delivery: QueueDelivery): void {
    if (this.#isStopped || !delivery.reader.isCurrent(delivery)) this.#options.queues.answered(delivery)
    else this.#answer(delivery, (channel) => channel.nack(delivery.message, false, true))
  }

  retryIn(delivery: QueueDelivery, deliveries: number, delayMs: number): void {
    this.#options.retry(delivery.message, deliveries, delayMs).then(
      () => this.#answer(delivery, (channel) => channel.ack(delivery.message)),
      // The broker could not take the retry, so it delivers the message itself again, after the same delay.
      () => setTimeout(() => this.giveBack(delivery), delayMs),
    )
  }

  setAside(
    { message }: QueueDelivery,
    tenant: string,
    facts: UndeliverableFacts,
  ): Effect.Effect<void, BusError> {
    return this.#options.setAside(message, tenant, facts)
  }

  get #isComplete(): boolean {
    return this.#members.hasJoined && this.#readers.every((reader) => reader.isOpen)
  }

  #nextPauseMs(): number {
    this.#pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, this.#pauseMs * 2))
    return this.#pauseMs
  }

  #receive(delivery: QueueDelivery): void {
    if (this.#isStopped) return
    this.#waiting.push(delivery)
    this.#feedNow()
  }

  #feedNow(): void {
    let taken = 0
    for (; taken < this.#waiting.length && this.#intake.room() > 0; taken++) {
      const delivery = this.#waiting[taken]
      if (delivery !== undefined) this.#take(delivery)
    }
    this.#waiting.splice(0, taken)
    if (this.#waiting.length === 0) this.#arrived.closeUnsafe()
    else this.#arrived.openUnsafe()
  }

  #take(delivery: QueueDelivery): void {
    if (!delivery.reader.isCurrent(delivery)) return
    const handled = this.#options.queues.handled(delivery)
    if (Option.isSome(handled)) {
      void handled.value.then((isDone) => (isDone ? this.acknowledge(delivery) : this.giveBack(delivery)))
    } else this.#intake.take(new RabbitIncoming(delivery, this))
  }

  #answer(delivery: QueueDelivery, say: (channel: Channel) => void): void {
    delivery.reader.answer(delivery, say)
    this.#options.queues.answered(delivery)
  }

  #giveBackAll(channel: Channel): Promise<void> {
    return Effect.runPromise(
      this.#intake.giveBack((incoming) => incoming instanceof RabbitIncoming && incoming.isFrom(channel)),
    )
  }

  async #makeRoom(members: number): Promise<void> {
    const share = Math.ceil(this.#readers.length / members)
    const active = this.#readers.filter((reader) => reader.isActive)
    for (const reader of active.slice(share)) await reader.leave((channel) => this.#giveBackAll(channel))
  }
}
