// Messages from the broker: pulled as far as the intake has room, never more. Several pulls wait at the broker at
// once, so that a message that comes to an idle service is here at once and a full one never starves between two
// pulls; all of them are answered over one connection, so the broker's order is kept.
//
// A pull is bounded in bytes, too. The broker ends a connection for which more waits than it keeps (64 MB unless
// told otherwise), and every message on its way then costs a delivery: a few hundred large messages of others on
// the same subjects would be enough to make undeliverable messages of commands that no handler saw.
//
// A pull ends when it is used up, when its time is over, or when it is void: the connection was lost, the consumer
// or the stream is gone, or the broker fell silent (it sends heartbeats while a pull waits). After that the
// stream and the consumer are looked at again, and made again if they must be.

import { Effect, Latch, type Scope } from "effect"
import { createInbox, type Subscription as Inbox, type Msg, nanos } from "../../../drivers/nats/nats.ts"
import type { BusAbilities, BusError, Subscription } from "../Bus.ts"
import { type Intake, type IntakeOptions, makeIntake } from "../Intake.ts"
import type { Connection } from "./Connection.ts"
import { type AsideMessage, type DeliveryContext, NatsIncoming } from "./NatsIncoming.ts"
import { largestPull, pullExpiresMs } from "./StreamSetup.ts"
import type { Subjects } from "./Subjects.ts"

export interface SubscriptionOptions {
  readonly stream: string
  readonly subjects: Subjects
  readonly intake: IntakeOptions
  setAside(setAside: AsideMessage): Effect.Effect<void, BusError>
  /** Makes what is missing on the broker; refuses what contradicts. */
  readonly setUp: Effect.Effect<void, BusError>
}

export const natsAbilities: BusAbilities = { delays: true, dropsRepeats: true, listsUndeliverable: true }

const heartbeatMs = 2_000
/** Two heartbeats and then some. */
const silentAfterMs = 5_000
/** Of one pull; more where the broker takes larger messages. */
const pullBytes = 4 * 1_024 * 1_024
/** What the broker counts of a message beside its content and headers: its subject and the address of the answer. */
const addressBytes = 16_384
const pullsAtOnce = 4
const firstPauseMs = 250
const longestPauseMs = 5_000
const withdrawWithinMs = 2_000

interface Pull {
  readonly inbox: Inbox
  /** What it may still bring. */
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
  // After the fork, so that it runs first: nothing more is pulled or begun from here on.
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
  /** The next message is larger than a pull may bring, as those may be that the broker took under other settings. */
  #isNextLarge = false
  /** While pulls are withdrawn: what is to be said when that is done. Bounded by what the intake holds. */
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

  /** The connection is gone, and what waited at the broker with it. */
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
   * Takes back the pulls that wait; what still comes on them goes back to the broker. It has no word for this: it
   * learns it from the missing listener, and only when it next looks. Asked about the consumer, it looks at once.
   * Until then nothing is handed back to it: it would take the message up for a pull that is void, and then put
   * it behind the others, or forget it until the wait for its answer is over.
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

  /** In the order in which it is asked to. */
  handBack(say: () => void): void {
    if (this.#heldBack === undefined) say()
    else this.#heldBack.push(say)
  }

  setAside(setAside: AsideMessage): Effect.Effect<void, BusError> {
    return this.#options.setAside(setAside)
  }

  /** After trouble: a pause, a look at the stream and the consumer, and a longer pause if that fails. */
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
          yield* Effect.logWarning(`pulling from NATS cannot go on yet: ${setUp.failure.message}`)
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

  /** What was asked for is counted as taken: whatever comes finds room. */
  #pullMore(): void {
    if (this.#isClosing || !this.#isSetUp || this.#trouble !== undefined) return
    for (;;) {
      const requested = this.#requested
      const free = this.#intake.room() - requested
      if (free < this.#worthPulling(requested)) return
      this.#pull(Math.min(free, this.#pullSize))
    }
  }

  /** What is larger than the bound is pulled alone. */
  #boundOf(count: number): { readonly batch: number; readonly max_bytes?: number } {
    if (this.#isNextLarge) {
      this.#isNextLarge = false
      return { batch: 1 }
    }
    return { batch: count, max_bytes: Math.max(pullBytes, this.#connection.maxPayloadBytes + addressBytes) }
  }

  /** A handful is pulled only if nothing else is on its way. */
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
          // Nothing may be thrown here: that would end the client's reading.
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
    // Only now: what ends a pull lets the next one be sent, and that must find this message taken.
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
      if (pull.heardAt < silentSince) this.#fail(pull, `no sign of life for ${silentAfterMs} ms`)
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

  /** A pull has ended, or there is room for one, or it is time to see whether the broker still lives. */
  get #awaitChange(): Effect.Effect<void> {
    const requested = this.#requested
    const wanted = requested + this.#worthPulling(requested)
    // Where all the room is asked for already, only the end of a pull makes any.
    const room = wanted > this.#options.intake.heldAtMost ? Effect.never : this.#intake.awaitRoom(wanted)
    return Effect.raceFirst(this.#changed.await, room).pipe(Effect.timeoutOption(heartbeatMs), Effect.asVoid)
  }
}

/** What the broker says when a pull can bring no more within its bytes. */
const fullPulls: ReadonlySet<string> = new Set(["message size exceeds maxbytes", "batch completed"])

const statusCodes = { heartbeat: 100, noMessages: 404, expired: 408, noResponders: 503 } as const
