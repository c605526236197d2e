// Pulls messages from the broker, never more than the intake has room for. Several pulls wait at the broker at once. So
// an idle service gets a new message immediately, and a busy one never runs empty between two pulls. All pulls are
// answered over one connection, so the broker's order is kept.
//
// A pull is also bounded in bytes. The broker closes a connection if too many bytes wait for it (64 MB by default), and
// then every message on its way has used up one delivery. Without the bound, a few hundred large messages of other
// groups on the same subjects could make commands undeliverable that no handler ever received.
//
// A pull ends when it is used up, when its time is over, or when it is void: the connection was lost, the consumer or
// the stream is gone, or the broker is silent (it sends heartbeats while a pull waits). After that the subscription
// checks the stream and the consumer again, and recreates them if needed.

import { Effect, Latch, type Scope } from "effect"
import { createInbox, type Subscription as Inbox, type Msg, nanos } from "../../../drivers/nats/nats.ts"
import type { BusAbilities, BusError, Subscription } from "../Bus.ts"
import { type Intake, makeIntake } from "../Intake.ts"
import type { IntakeOptions } from "../IntakeOptions.ts"
import type { Connection } from "./Connection.ts"
import { type AsideMessage, type DeliveryContext, NatsIncoming } from "./NatsIncoming.ts"
import { largestPull, pullExpiresMs } from "./StreamSetup.ts"
import type { Subjects } from "./Subjects.ts"

export interface SubscriptionOptions {
  readonly stream: string
  readonly subjects: Subjects
  readonly intake: IntakeOptions
  setAside(setAside: AsideMessage): Effect.Effect<void, BusError>
  /** Creates what is missing on the broker, and fails on settings that contradict the contract. */
  readonly setUp: Effect.Effect<void, BusError>
}

export const natsAbilities: BusAbilities = {
  delays: true,
  dropsRepeats: true,
  retriesInOrder: false,
  countsUnanswered: true,
  listsUndeliverable: true,
}

const heartbeatMs = 2_000
/** More than two heartbeats. */
const silentAfterMs = 5_000
/** The byte limit of one pull. It is larger if the broker accepts larger messages. */
const pullBytes = 4 * 1_024 * 1_024
/** The broker also counts the subject and the reply address of a message, beside its content and headers. */
const addressBytes = 16_384
const pullsAtOnce = 4
const firstPauseMs = 250
const longestPauseMs = 5_000
const withdrawWithinMs = 2_000

interface Pull {
  readonly inbox: Inbox
  /** How many more messages the pull may deliver. */
  left: number
  hasBrought: boolean
  heardAt: number
}

/** Handles messages until the scope closes. */
export const subscribeNats = Effect.fn("NatsSubscription.subscribe")(function* (
  connection: Connection,
  subscription: Subscription,
  options: SubscriptionOptions,
): Effect.fn.Return<void, BusError, Scope.Scope> {
  yield* options.setUp
  const intake = yield* makeIntake(subscription, options.intake, natsAbilities)
  const puller = new Puller(connection, intake, subscription.group, options)
  const forget = connection.listen({
    onLost: () => puller.dropAll(),
    onRegained: () => {},
    onForbidden: () => {},
  })
  yield* Effect.forkScoped(puller.run)
  // Added after the fork, so that it runs first. From here on the subscription pulls nothing and starts nothing.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      forget()
      return puller.withdraw()
    }).pipe(
      Effect.tap(() => intake.close),
      Effect.flatMap((withdrawn) => Effect.promise(() => withdrawn)),
    ),
  )
})

class Puller implements DeliveryContext {
  readonly #connection: Connection
  readonly #intake: Intake
  readonly #options: SubscriptionOptions
  readonly #group: string
  readonly #pullSize: number
  readonly #pulls = new Set<Pull>()
  readonly #changed = Latch.makeUnsafe(false)
  #isSetUp = true
  #isClosing = false
  #pauseMs = 0
  #trouble: string | undefined
  /** The next message is larger than a pull allows. This happens if the broker accepted it under other settings. */
  #isNextLarge = false
  /** Answers that wait while pulls are withdrawn, sent afterwards. The intake's limit bounds their number. */
  #heldBack: Array<() => void> | undefined

  constructor(connection: Connection, intake: Intake, group: string, options: SubscriptionOptions) {
    this.#connection = connection
    this.#group = group
    this.#intake = intake
    this.#options = options
    this.#pullSize = Math.min(largestPull, Math.ceil(options.intake.heldAtMost / pullsAtOnce))
  }

  get subjects(): Subjects {
    return this.#options.subjects
  }

  /** The connection is lost, and with it every pull that waited at the broker. */
  dropAll(): void {
    for (const pull of this.#pulls) this.#end(pull)
    this.#isSetUp = false
  }

  get run(): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        yield* self.#connection.awaitConnected
        yield* self.#recover
        self.#changed.closeUnsafe()
        self.#pullMore()
        yield* self.#awaitChange
        self.#dropSilent()
      }
    })
  }

  /**
   * Withdraws the waiting pulls; messages that still arrive on them go back to the broker. NATS has no command for
   * this: the broker notices the missing listener only when it next checks. A request about the consumer makes it check
   * at once. Until then nothing is given back, because the broker would use the message for a void pull, and then
   * either put it behind the others or forget it until its ack wait is over.
   */
  async withdraw(): Promise<void> {
    this.#isClosing = true
    const inboxes = [...this.#pulls].map(({ inbox }) => inbox)
    if (this.#connection.isConnected) {
      this.#heldBack = []
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, withdrawWithinMs)
      const drained = Promise.allSettled(inboxes.map((inbox) => inbox.drain()))
      const looked = drained.then(() =>
        this.#connection.manager.consumers.info(this.#options.stream, this.#group),
      )
      await Promise.race([looked.catch(() => {}), promise])
      clearTimeout(timer)
    }
    for (const pull of this.#pulls) this.#end(pull)
    const heldBack = this.#heldBack ?? []
    this.#heldBack = undefined
    for (const say of heldBack) say()
  }

  /** Sends the answers in the order of the calls. */
  handBack(say: () => void): void {
    if (this.#heldBack === undefined) say()
    else this.#heldBack.push(say)
  }

  setAside(setAside: AsideMessage): Effect.Effect<void, BusError> {
    return this.#options.setAside(setAside)
  }

  /** Recovers after a failure: it pauses, checks the stream and the consumer, and pauses longer if the check fails. */
  get #recover(): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      if (self.#trouble !== undefined) {
        yield* Effect.logWarning(`pulling from NATS was interrupted: ${self.#trouble}`)
        self.#trouble = undefined
        self.#isSetUp = false
        yield* Effect.sleep(self.#nextPauseMs())
      }
      while (!self.#isSetUp) {
        yield* self.#connection.awaitConnected
        const setUp = yield* self.#options.setUp.pipe(Effect.result)
        self.#isSetUp = setUp._tag === "Success"
        if (setUp._tag === "Failure") {
          yield* Effect.logWarning(`pulling from NATS cannot continue yet: ${setUp.failure.message}`)
          yield* Effect.sleep(self.#nextPauseMs())
        }
      }
    })
  }

  #nextPauseMs(): number {
    this.#pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, this.#pauseMs * 2))
    return this.#pauseMs
  }

  get #requested(): number {
    let requested = 0
    for (const pull of this.#pulls) requested += pull.left
    return requested
  }

  /** Requested messages count as taken, so that each message that arrives finds room. */
  #pullMore(): void {
    if (this.#isClosing || !this.#isSetUp || this.#trouble !== undefined) return
    for (;;) {
      const requested = this.#requested
      const free = this.#intake.room() - requested
      if (free < this.#worthPulling(requested)) return
      this.#pull(Math.min(free, this.#pullSize))
    }
  }

  /** A message that is larger than the limit is pulled alone. */
  #boundOf(count: number): { readonly batch: number; readonly max_bytes?: number } {
    if (this.#isNextLarge) {
      this.#isNextLarge = false
      return { batch: 1 }
    }
    return { batch: count, max_bytes: Math.max(pullBytes, this.#connection.maxPayloadBytes + addressBytes) }
  }

  /** A small pull is only worth it if no other is waiting. */
  #worthPulling(requested: number): number {
    return requested === 0 ? 1 : this.#pullSize
  }

  #pull(count: number): void {
    const address = createInbox()
    const bound = this.#boundOf(count)
    const request = { ...bound, expires: nanos(pullExpiresMs), idle_heartbeat: nanos(heartbeatMs) }
    const pull: Pull = {
      left: bound.batch,
      hasBrought: false,
      heardAt: performance.now(),
      inbox: this.#connection.client.subscribe(address, {
        callback: (error, message) => {
          // Nothing may throw here, because that would end the client's read loop.
          if (error !== null) this.#fail(pull, error.message)
          else if (message.subject === address) this.#noteStatus(pull, message)
          else this.#take(pull, message)
        },
      }),
    }
    this.#pulls.add(pull)
    this.#connection.client.publish(this.#nextSubject, JSON.stringify(request), { reply: address })
  }

  get #nextSubject(): string {
    return `$JS.API.CONSUMER.MSG.NEXT.${this.#options.stream}.${this.#group}`
  }

  #take(pull: Pull, message: Msg): void {
    pull.heardAt = performance.now()
    pull.hasBrought = true
    this.#pauseMs = 0
    const incoming = NatsIncoming.of(message, this)
    if (this.#isClosing) incoming?.redeliverIn(0)
    else if (incoming !== undefined) this.#intake.take(incoming)
    // Counted only now. The end of a pull starts the next one, and by then this message must count as taken.
    pull.left--
    if (pull.left === 0 && !this.#isClosing) this.#end(pull)
  }

  #noteStatus(pull: Pull, message: Msg): void {
    pull.heardAt = performance.now()
    const code = message.headers?.code ?? 0
    const description = message.headers?.description.toLowerCase() ?? ""
    if (code === statusCodes.heartbeat || this.#isClosing) return
    const isFull = fullPulls.has(description)
    if (isFull || code === statusCodes.noMessages || code === statusCodes.expired) {
      if (isFull && !pull.hasBrought) this.#isNextLarge = true
      this.#pauseMs = 0
      this.#end(pull)
    } else if (code === statusCodes.noResponders) {
      this.#fail(pull, "the consumer or the stream is gone")
    } else this.#fail(pull, description === "" ? "a status without a name" : description)
  }

  #dropSilent(): void {
    const silentSince = performance.now() - silentAfterMs
    for (const pull of this.#pulls) {
      if (pull.heardAt < silentSince) this.#fail(pull, `no heartbeat for ${silentAfterMs} ms`)
    }
  }

  #fail(pull: Pull, message: string): void {
    this.#trouble = message
    this.#end(pull)
  }

  #end(pull: Pull): void {
    if (!this.#pulls.delete(pull)) return
    if (!pull.inbox.isClosed()) pull.inbox.unsubscribe()
    this.#changed.openUnsafe()
  }

  /** Resolves when a pull has ended, when there is room for another, or when it is time to check the heartbeats. */
  get #awaitChange(): Effect.Effect<void> {
    const requested = this.#requested
    const wanted = requested + this.#worthPulling(requested)
    // If all the room is already requested, only the end of a pull makes more.
    const room = wanted > this.#options.intake.heldAtMost ? Effect.never : this.#intake.awaitRoom(wanted)
    return Effect.raceFirst(this.#changed.await, room).pipe(Effect.timeoutOption(heartbeatMs), Effect.asVoid)
  }
}

/** What the broker answers when no further message fits into the byte limit of a pull. */
const fullPulls: ReadonlySet<string> = new Set(["message size exceeds maxbytes", "batch completed"])

const statusCodes = { heartbeat: 100, noMessages: 404, expired: 408, noResponders: 503 } as const
