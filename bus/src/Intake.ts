// The intake handles messages from any broker, so that the laws of Bus.ts are implemented once. An adapter takes
// messages from its broker while the intake has room. The intake answers each message through `Incoming`.
//
//   take → judge → lane → handler → answer to the broker
//
// Messages of one key wait in a lane, one behind the other. For every message that it holds, the intake asks the broker
// to keep waiting. A handler that reports itself unavailable pauses the whole intake. The message that got this answer
// asks the handler again until it is available. Until then the intake starts no other handler and takes nothing more.
// A message that the handler postpones waits in `WaitingTenants`, and the intake goes on with the others.
//
// The intake decides when a failed message is retried. If the broker can delay, the intake tells it the delay. If not,
// the intake holds the message itself. The message then waits outside its lane, so it does not block its key, but it
// still counts towards `heldAtMost`. If the broker's retries keep the order of a key, the intake gives the messages
// behind a failed one back, and the adapter puts them behind it.
import { CorrelationId } from "@punctual/api/CorrelationId"
import { Clock, type Context, Effect, Exit, Fiber, Latch, Option, type Scope } from "effect"
import type { BusAbilities, Message, Observed, Subscription } from "./Bus.ts"
import type { Envelope } from "./Envelope.ts"
import { FailureMemory } from "./FailureMemory.ts"
import { type HeldAnswer, type HeldMessage, isDone, laneOf } from "./HeldMessage.ts"
import { type HandlerOutcome, messageOf, outcomeOf, pauseMs, shortestPauseMs } from "./handling.ts"
import type { Incoming } from "./Incoming.ts"
import type { IntakeOptions } from "./IntakeOptions.ts"
import { judge } from "./judge.ts"
import { KeyLanes } from "./KeyLanes.ts"
import { MessageMetadata } from "./MessageMetadata.ts"
import { setAsideHeld } from "./setAsideHeld.ts"
import type { UndeliverableFacts } from "./Undeliverable.ts"
import { WaitingTenants, waitingBounds } from "./WaitingTenants.ts"

export interface Intake {
  /**
   * How many more messages the intake can take now. 0 while the handler is unavailable, while the intake is full, and
   * after it has closed.
   */
  room(): number
  /** Waits until there is room for at least `count` messages. After the intake has closed, this never resolves. */
  awaitRoom(count: number): Effect.Effect<void>
  /** Never waits. The caller must respect `room`. Messages that were on their way when a pause began may still come. */
  take(incoming: Incoming): void
  /**
   * Gives the chosen messages back with `redeliverIn(0)`, because they now belong to another member of the group.
   * Running handlers may finish within `closeWithinMs`; then the intake interrupts them.
   */
  giveBack(which: (incoming: Incoming) => boolean): Effect.Effect<void>
  /**
   * Stops taking messages. Running handlers may finish within `closeWithinMs`; then the intake interrupts them. It
   * gives all other messages back with `redeliverIn(0)`. Idempotent.
   */
  readonly close: Effect.Effect<void>
}

/** The abilities of the broker on which the intake depends. */
export type IntakeAbilities = Pick<BusAbilities, "delays" | "retriesInOrder">

/** The intake also closes when its scope closes. */
export const makeIntake = Effect.fnUntraced(function* (
  subscription: Subscription,
  options: IntakeOptions,
  broker: IntakeAbilities,
): Effect.fn.Return<Intake, never, Scope.Scope> {
  const context = yield* Effect.context<Scope.Scope>()
  const clock = yield* Clock.clockWith(Effect.succeed)
  const intake = new LaneIntake({ subscription, options, broker, clock, context })
  yield* Effect.forkScoped(intake.keepBrokerWaiting)
  // Added after the fork, so that it runs before the fibre ends: the broker must keep waiting while handlers finish.
  yield* Effect.addFinalizer(() => intake.close)
  return intake
})

/** A handler gets this share of the broker's wait, so that the answer can still arrive in time. */
const handlerShare = 0.8
/** More often than needed, so that one lost signal does no harm. */
const waitsPerAckWait = 3
/** How long an interrupted handler may take to end. */
const unwindWithinMs = 1_000
const failuresRemembered = 10_000
/** The limit for the bytes of all held messages. Beyond it the intake takes no more, even if it holds only a few. */
const heldBytesAtMost = 64 * 1_024 * 1_024

interface IntakeParts {
  readonly subscription: Subscription
  readonly options: IntakeOptions
  readonly broker: IntakeAbilities
  readonly clock: Clock.Clock
  readonly context: Context.Context<Scope.Scope>
}

class LaneIntake implements Intake {
  readonly #subscription: Subscription
  readonly #options: IntakeOptions
  readonly #broker: IntakeAbilities
  readonly #now: () => number
  readonly #runFork: <A>(effect: Effect.Effect<A, never, Scope.Scope>) => Fiber.Fiber<A>
  readonly #lanes = new KeyLanes<HeldMessage>()
  /** All messages that are taken and not answered, in the order taken. */
  readonly #held = new Set<HeldMessage>()
  #heldBytes = 0
  readonly #running = new Map<HeldMessage, Fiber.Fiber<HeldAnswer>>()
  readonly #waiting: WaitingTenants<HeldMessage>
  readonly #failures = new FailureMemory(failuresRemembered)
  readonly #roomMade = Latch.makeUnsafe(false)
  readonly #closing = Latch.makeUnsafe(false)
  /** The message that asks, on behalf of all, whether the handler is available again. */
  #pausedBy: HeldMessage | undefined
  #isPumping = false
  #isClosed = false

  constructor({ subscription, options, broker, clock, context }: IntakeParts) {
    this.#subscription = subscription
    this.#options = options
    this.#waiting = new WaitingTenants(waitingBounds(options.heldAtMost))
    this.#broker = broker
    this.#now = () => clock.currentTimeMillisUnsafe()
    this.#runFork = Effect.runForkWith(context)
  }

  room(): number {
    const { messages, bytes } = this.#waiting
    return this.#isClosed || this.#pausedBy !== undefined || this.#heldBytes - bytes >= heldBytesAtMost
      ? 0
      : Math.max(0, this.#options.heldAtMost - (this.#held.size - messages))
  }

  awaitRoom(count: number): Effect.Effect<void> {
    const self = this
    const wanted = Math.min(count, this.#options.heldAtMost)
    return Effect.gen(function* () {
      while (self.room() < wanted) {
        self.#roomMade.closeUnsafe()
        yield* self.#roomMade.await
        // Runs in a turn of its own, not in the call that made room.
        yield* Effect.yieldNow
      }
    })
  }

  take(incoming: Incoming): void {
    if (this.#isClosed) {
      this.#tell(() => incoming.redeliverIn(0))
      return
    }
    // This message was replayed for another group. The other groups must not see it twice.
    if (incoming.onlyGroup !== undefined && incoming.onlyGroup !== this.#subscription.group) {
      this.#tell(() => incoming.acknowledge())
      return
    }
    const judgement = judge(incoming, this.#subscription.types)
    const { tenant } = judgement
    if (judgement.kind === "otherType") {
      this.#tell(() => incoming.acknowledge())
      this.#observe({ event: "otherType", tenant, type: judgement.type })
      return
    }
    this.#observe({ event: incoming.delivery > 1 ? "redelivered" : "received", tenant })
    const held: HeldMessage = {
      incoming,
      judgement,
      lane: laneOf(incoming, judgement),
      delivery: incoming.delivery,
      isCutShort: false,
      isLeaving: false,
    }
    this.#held.add(held)
    this.#heldBytes += incoming.bytes.length
    this.#lanes.push(held.lane, held)
    this.#pump()
  }

  /** Repeats until the scope closes. */
  get keepBrokerWaiting(): Effect.Effect<never> {
    return Effect.sleep(this.#options.ackWaitMs / waitsPerAckWait).pipe(
      Effect.andThen(
        Effect.sync(() => {
          for (const { incoming } of this.#held) this.#tell(() => incoming.keepWaiting())
        }),
      ),
      Effect.forever,
    )
  }

  get close(): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      self.#isClosed = true
      self.#closing.openUnsafe()
      // A message that waits behind a running handler goes back after that handler's message, to keep the order.
      for (const held of [...self.#held]) if (!self.#lanes.isBusy(held.lane)) self.#handBack(held)
      yield* self.#endHandlers([...self.#held])
      for (const held of [...self.#held]) self.#handBack(held)
    })
  }

  giveBack(which: (incoming: Incoming) => boolean): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      const leaving = [...self.#held].filter(({ incoming }) => which(incoming))
      for (const held of leaving) {
        held.isLeaving = true
        if (!self.#running.has(held)) self.#handBack(held)
      }
      yield* self.#endHandlers(leaving)
      for (const held of leaving) self.#handBack(held)
      self.#pump()
    })
  }

  /** Handlers may finish within their time, except the one that asks for all. Then they are interrupted. */
  #endHandlers(messages: ReadonlyArray<HeldMessage>): Effect.Effect<void> {
    const self = this
    const running = () => [...self.#running].filter(([held]) => messages.includes(held))
    const endWithin = (withinMs: number) =>
      Effect.timeoutOption(Fiber.awaitAll(running().map(([, fiber]) => fiber)), withinMs)
    return Effect.gen(function* () {
      if (self.#pausedBy?.isLeaving === true) self.#cutShort(self.#pausedBy)
      yield* endWithin(self.#options.closeWithinMs)
      for (const [held] of running()) self.#cutShort(held)
      yield* endWithin(unwindWithinMs)
    })
  }

  #cutShort(held: HeldMessage): void {
    held.isCutShort = true
    this.#running.get(held)?.interruptUnsafe()
  }

  /** Starts as many handlers as the bounds allow. */
  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    while (
      !this.#isClosed &&
      this.#pausedBy === undefined &&
      this.#running.size < this.#options.handlersAtMost
    ) {
      const held = this.#lanes.next()
      if (held === undefined) break
      this.#start(held)
    }
    this.#isPumping = false
  }

  #start(held: HeldMessage): void {
    const fiber = this.#runFork(this.#work(held))
    this.#running.set(held, fiber)
    fiber.addObserver((exit) => {
      this.#running.delete(held)
      this.#settle(held, exit)
      this.#pump()
    })
  }

  #settle(held: HeldMessage, exit: Exit.Exit<HeldAnswer>): void {
    const { incoming, lane, judgement } = held
    if (this.#pausedBy === held) this.#endPause()
    // The intake has already given the message back if its handler took too long to end.
    if (!this.#held.has(held)) {
      this.#lanes.finish(lane)
      return
    }
    const answer = this.#answerOf(held, exit)
    const isLeaving = this.#isClosed || held.isLeaving
    if (answer.kind === "putBack" && !isLeaving) {
      this.#lanes.putBack(lane, held)
      return
    }
    const behind =
      this.#broker.retriesInOrder && answer.kind === "redeliver" ? this.#lanes.takeWaiting(lane) : []
    this.#lanes.finish(lane)
    if (answer.kind === "postpone" && !isLeaving) {
      this.#postpone(held, answer.retryAfterMs)
      return
    }
    this.#askAgain(this.#waiting.finish(judgement.tenant, held))
    if (answer.kind === "redeliver" && !this.#broker.delays && !this.#isClosed) {
      this.#holdFor(held, answer.delayMs)
      return
    }
    this.#release(held)
    if (!isDone(answer)) {
      const delayMs = answer.kind === "redeliver" && this.#broker.delays ? answer.delayMs : 0
      this.#tell(() => incoming.redeliverIn(delayMs))
      for (const next of behind) this.#handBack(next)
      return
    }
    this.#failures.forget(incoming.messageKey)
    this.#tell(() => incoming.acknowledge())
    this.#observe({ event: answer.kind, tenant: judgement.tenant })
  }

  /**
   * Delays the message in place of the broker. After the delay the message waits for its turn again, unless the intake
   * has closed.
   */
  #holdFor(held: HeldMessage, delayMs: number): void {
    const retry = Effect.sync(() => {
      if (this.#isClosed || !this.#held.has(held)) return
      held.delivery++
      this.#observe({ event: "redelivered", tenant: held.judgement.tenant })
      this.#lanes.push(held.lane, held)
      this.#pump()
    })
    this.#runFork(Effect.forkScoped(Effect.andThen(Effect.sleep(delayMs), retry)))
  }

  /** The message waits for its tenant. Its place in the intake is free for another message. */
  #postpone(held: HeldMessage, retryAfterMs: number): void {
    const { tenant } = held.judgement
    if (this.#waiting.wait(tenant, held)) {
      const resume = Effect.sync(() => this.#askAgain(this.#waiting.resume(tenant)))
      this.#runFork(Effect.forkScoped(Effect.andThen(Effect.sleep(pauseMs(retryAfterMs)), resume)))
    }
    this.#roomMade.openUnsafe()
  }

  #askAgain(messages: ReadonlyArray<HeldMessage>): void {
    for (const held of messages) if (this.#held.has(held)) this.#lanes.push(held.lane, held)
    if (messages.length > 0) this.#pump()
  }

  #answerOf(held: HeldMessage, exit: Exit.Exit<HeldAnswer>): HeldAnswer {
    if (Exit.isSuccess(exit)) return exit.value
    return held.isCutShort ? { kind: "putBack" } : { kind: "redeliver", delayMs: this.#longestDelayMs }
  }

  #handBack(held: HeldMessage): void {
    if (!this.#held.has(held)) return
    this.#lanes.remove(held.lane, held)
    this.#askAgain(this.#waiting.finish(held.judgement.tenant, held))
    this.#release(held)
    this.#tell(() => held.incoming.redeliverIn(0))
  }

  #release(held: HeldMessage): void {
    if (this.#held.delete(held)) this.#heldBytes -= held.incoming.bytes.length
    if (!this.#isClosed) this.#roomMade.openUnsafe()
  }

  #work(held: HeldMessage): Effect.Effect<HeldAnswer> {
    const { incoming, judgement } = held
    const { tenant } = judgement
    if (judgement.kind === "unfit") {
      this.#failures.note(incoming.messageKey, { at: this.#now(), error: judgement.error })
      return this.#setAside(held, judgement.reason)
    }
    // The handler of this message may be what crashes the process, so it is not called again.
    if (held.delivery > this.#options.retryDelaysMs.length + 1)
      return this.#setAside(held, "deliveriesExhausted")
    return Effect.flatMap(this.#askUntilAvailable(held, judgement.envelope), (outcome) => {
      if (outcome.kind === "done") return Effect.succeed<HeldAnswer>({ kind: "processed" })
      if (outcome.kind === "unavailable") return Effect.succeed<HeldAnswer>({ kind: "putBack" })
      if (outcome.kind === "postponed" && this.#waiting.reserve(tenant, held, incoming.bytes.length))
        return Effect.succeed<HeldAnswer>({ kind: "postpone", retryAfterMs: outcome.retryAfterMs })
      this.#failures.note(incoming.messageKey, { at: this.#now(), error: outcome.error })
      if (outcome.kind === "refused") return this.#setAside(held, "refused")
      const delayMs = this.#options.retryDelaysMs[held.delivery - 1]
      return delayMs === undefined
        ? this.#setAside(held, "deliveriesExhausted")
        : Effect.succeed<HeldAnswer>({ kind: "redeliver", delayMs })
    })
  }

  /** Returns "unavailable" only if another message already asks for all, or if the intake closes. */
  #askUntilAvailable(held: HeldMessage, envelope: Envelope): Effect.Effect<HandlerOutcome> {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        const outcome = yield* self.#ask(messageOf(envelope, held.incoming, held.delivery))
        if (outcome.kind !== "unavailable") {
          if (self.#pausedBy === held) {
            self.#endPause()
            yield* Effect.logInfo("the handler is available again; handling messages")
          }
          return outcome
        }
        if (self.#pausedBy === undefined) {
          self.#pausedBy = held
          yield* Effect.logWarning(`the handler is unavailable, so no messages are handled: ${outcome.error}`)
        }
        if (self.#pausedBy !== held) return outcome
        yield* Effect.timeoutOption(self.#closing.await, pauseMs(outcome.retryAfterMs))
        if (self.#isClosed) return outcome
      }
    })
  }

  #endPause(): void {
    this.#pausedBy = undefined
    this.#roomMade.openUnsafe()
    this.#pump()
  }

  /** Calls the handler once. The handler fails if it takes longer than its share of the broker's wait. */
  #ask(message: Message): Effect.Effect<HandlerOutcome> {
    const { envelope } = message
    const withinMs = this.#options.ackWaitMs * handlerShare
    return Effect.suspend(() => this.#subscription.handle(message)).pipe(
      Effect.provideService(MessageMetadata, {
        ...(envelope.correlationId === undefined ? {} : { correlationId: envelope.correlationId }),
        causationId: CorrelationId.make(envelope.id),
      }),
      Effect.timeoutOption(withinMs),
      Effect.exit,
      Effect.map((exit): HandlerOutcome => {
        if (Exit.isFailure(exit)) return outcomeOf(exit.cause)
        return Option.isSome(exit.value)
          ? { kind: "done" }
          : { kind: "failed", error: `the handler did not finish within ${withinMs} ms` }
      }),
    )
  }

  #setAside(held: HeldMessage, reason: UndeliverableFacts["reason"]): Effect.Effect<HeldAnswer> {
    const { incoming, judgement, delivery } = held
    const withinMs = this.#options.ackWaitMs * handlerShare
    const what = {
      incoming,
      tenant: judgement.tenant,
      group: this.#subscription.group,
      delivery,
      reason,
      withinMs,
    }
    return Effect.map(
      setAsideHeld({ ...what, failures: this.#failures, nowMs: this.#now() }),
      (isStored): HeldAnswer =>
        isStored ? { kind: "undeliverable" } : { kind: "redeliver", delayMs: this.#longestDelayMs },
    )
  }

  get #longestDelayMs(): number {
    return Math.max(shortestPauseMs, ...this.#options.retryDelaysMs)
  }

  /** An unreachable broker, or an observer that throws, must not stop the messages behind. */
  #tell(what: () => void): void {
    try {
      what()
    } catch (error) {
      this.#runFork(Effect.logWarning("an answer to the broker, or an observer, failed for a message", error))
    }
  }

  #observe(observed: Observed): void {
    this.#tell(() => this.#subscription.observe(observed))
  }
}
