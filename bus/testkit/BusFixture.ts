// What the suite of buses needs from an adapter, and the small steps that its laws are written in.
import { test } from "bun:test"
import { CorrelationId } from "@punctual/api/CorrelationId"
import { Namespace } from "@punctual/api/Namespace"
import { Clock, Effect, type Fiber, type Layer, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { AggregateId } from "../src/AggregateId.ts"
import {
  Bus,
  type BusAbilities,
  type BusError,
  type HandlerFailure,
  type Message,
  type Observed,
  type PublishError,
  type Published,
  type Subscription,
} from "../src/Bus.ts"
import { MessageType, type OutgoingEnvelope } from "../src/Envelope.ts"
import { EnvelopeId } from "../src/EnvelopeId.ts"
import type { IntakeOptions } from "../src/IntakeOptions.ts"
import { MessageMetadata, type Metadata } from "../src/MessageMetadata.ts"
import { RoutingTable } from "../src/RoutingTable.ts"
import { type UndeliverableMessage, UndeliverableMessages } from "../src/UndeliverableMessages.ts"

export interface BusFixture {
  /** A layer that makes an empty bus with `sampleRouting`, and cleans up after itself. */
  fresh(options: IntakeOptions): Layer.Layer<Bus | UndeliverableMessages, unknown>
  /** What the broker can do. The suite tests the consequences of each ability, present or absent. */
  readonly abilities: BusAbilities
  /** How time passes while a law runs. */
  readonly time: BusTime
  /**
   * Adds another listener on the topic for these types. Does nothing on a bus that accepts messages without a listener.
   */
  listenElsewhere(types: ReadonlyArray<string>): Effect.Effect<void, BusError, Bus | Scope.Scope>
  /** Present if the members of a group do not share the messages of one tenant: why not. */
  readonly membersShare?: { readonly skipped: string }
  /** Sends raw bytes to a tenant's topic, or says why that is impossible. */
  readonly inject:
    | ((tenant: string, bytes: Uint8Array) => Effect.Effect<void, unknown, Bus>)
    | { readonly skipped: string }
}

export interface BusTime {
  run(law: Effect.Effect<void, unknown>): Promise<void>
  /** Lets a little time pass. */
  readonly pass: Effect.Effect<void>
  /** A condition that is not met after this many passes counts as never met. */
  readonly passesAtMost: number
}

/** For buses whose broker is another process. */
export const realTime: BusTime = {
  run: (law) => Effect.runPromise(law),
  pass: Effect.sleep(10),
  passesAtMost: 3_000,
}

/** For buses within this process. */
export const virtualTime: BusTime = {
  run: (law) => Effect.runPromise(law.pipe(Effect.provide(TestClock.layer()))),
  pass: Effect.andThen(Effect.yieldNow, TestClock.adjust(10)).pipe(Effect.andThen(Effect.yieldNow)),
  passesAtMost: 10_000,
}

/** Delays that are short enough for a test with a real broker. */
export const quickIntake: IntakeOptions = {
  ackWaitMs: 5_000,
  retryDelaysMs: [50, 100, 150, 150],
  heldAtMost: 100,
  handlersAtMost: 16,
  closeWithinMs: 2_000,
}

/** The steps of a law, with a bus of its own. */
export interface BusSteps {
  readonly bus: Bus["Service"]
  readonly kept: UndeliverableMessages["Service"]
  /** Publishes in the order of the calls, without waiting. Some buses answer only when everything is handled. */
  send(
    ...envelopes: ReadonlyArray<OutgoingEnvelope>
  ): Effect.Effect<Fiber.Fiber<ReadonlyArray<Published>, PublishError>, never, Scope.Scope>
  /** Lets time pass and asks until there is an answer. */
  until<A, E = never>(
    what: string,
    ask: () => A | undefined | Effect.Effect<A | undefined, E>,
  ): Effect.Effect<A, E>
  /** Waits until every group has acknowledged everything. After that, nothing more happens to the messages. */
  readonly untilAllAcknowledged: Effect.Effect<void, BusError>
  /** Waits until this many undeliverable messages of the tenant are listed. */
  undeliverable(tenant: string, count: number): Effect.Effect<ReadonlyArray<UndeliverableMessage>, BusError>
}

export type BusLaw = (
  title: string,
  body: (steps: BusSteps) => Effect.Effect<void, unknown, Bus | UndeliverableMessages | Scope.Scope>,
  options?: Partial<IntakeOptions>,
) => void

/** A test that reads as a law. */
export const busLawsOf =
  (fixture: BusFixture): BusLaw =>
  (title, body, options = {}) => {
    test(title, () =>
      fixture.time.run(
        Effect.flatMap(Effect.all([Bus, UndeliverableMessages]), ([bus, kept]) =>
          body(stepsOf(fixture, bus, kept)),
        ).pipe(
          Effect.scoped,
          Effect.provide(fixture.fresh({ ...quickIntake, ...options })),
          Effect.provide(Logger.layer([])),
        ),
      ),
    )
  }

const stepsOf = (
  { time }: BusFixture,
  bus: Bus["Service"],
  kept: UndeliverableMessages["Service"],
): BusSteps => {
  const until: BusSteps["until"] = Effect.fnUntraced(function* (what, ask) {
    for (let pass = 0; pass < time.passesAtMost; pass++) {
      const asked = ask()
      const answer = Effect.isEffect(asked) ? yield* asked : asked
      if (answer !== undefined) return answer
      yield* time.pass
    }
    throw new Error(`this never happened: ${what}`)
  })
  const sent: Array<Fiber.Fiber<ReadonlyArray<Published>, PublishError>> = []
  return {
    bus,
    kept,
    send: (...envelopes) =>
      Effect.tap(Effect.forkScoped(bus.publish(envelopes), { startImmediately: true }), (fiber) =>
        Effect.sync(() => sent.push(fiber)),
      ),
    until,
    untilAllAcknowledged: until("everything is published", () =>
      sent.every((fiber) => fiber.pollUnsafe() !== undefined) ? true : undefined,
    ).pipe(
      Effect.andThen(
        until("everything is acknowledged", () =>
          Effect.map(
            Effect.forEach(groups, (group) => bus.sample(group)),
            (samples) => (samples.every(({ lag }) => lag === 0) ? true : undefined),
          ),
        ),
      ),
      Effect.asVoid,
    ),
    undeliverable: (tenant, count) =>
      until(`${count} undeliverable messages of ${tenant}`, () =>
        Effect.map(kept.list(tenant, { limit: 100 }), ({ messages }) =>
          messages.length === count ? messages : undefined,
        ),
      ),
  }
}

/** One call of a handler. */
export interface Asked extends Message {
  readonly metadata: Metadata
  /** Measured with the clock of the law. */
  readonly atMs: number
}

export type Handle = (message: Message) => Effect.Effect<void, HandlerFailure>

/** The groups of the listeners. A listener is in the first group by default. */
export const groups = ["first", "second"] as const

export const sampleTopic = "samples"
export const otherTopic = "samples.others"

/** A type that needs no subscriber. */
export const unheardType = "Rumour"

export const sampleRouting = new RoutingTable(
  {
    Reminder: sampleTopic,
    SomethingElse: sampleTopic,
    Elsewhere: otherTopic,
    [unheardType]: sampleTopic,
  },
  [unheardType],
)

export const sampleNow = 1_750_000_000_000

let ids = 0

/** Increases, so that messages sort by it. */
export const sampleId = (): string => `01976f5e-7c00-7000-8000-${(++ids).toString(16).padStart(12, "0")}`

/** The type that listeners take by default. */
export const takenType = "Reminder"

/** A subscription that records the calls of its handler and its observer. */
export class Listener {
  readonly asked: Array<Asked> = []
  readonly observed: Array<Observed> = []
  readonly subscription: Subscription

  constructor(
    handle: Handle = () => Effect.void,
    types: ReadonlyArray<string> = [takenType],
    { group = groups[0], topic = sampleTopic }: { readonly group?: string; readonly topic?: string } = {},
  ) {
    this.subscription = {
      group,
      topic,
      types: new Set(types),
      handle: (message) =>
        Effect.flatMap(Effect.all([MessageMetadata, Clock.currentTimeMillis]), ([metadata, atMs]) => {
          this.asked.push({ ...message, metadata, atMs })
          return handle(message)
        }),
      observe: (observed) => this.observed.push(observed),
    }
  }

  /** How often the handler was called, if at least this often; otherwise `undefined`. */
  askedTimes(times: number): number | undefined {
    return this.asked.length >= times ? this.asked.length : undefined
  }

  get askedIds(): ReadonlyArray<string> {
    return this.asked.map(({ envelope }) => envelope.id)
  }

  get deliveries(): ReadonlyArray<number> {
    return this.asked.map(({ delivery }) => delivery)
  }

  events(event: Observed["event"]): number {
    return this.observed.filter((observed) => observed.event === event).length
  }
}

export interface NewMessage {
  readonly tenant?: string
  readonly key?: string
  readonly type?: string
  readonly correlationId?: string
  readonly payloadJson?: string
}

export const sampleMessage = (message: NewMessage = {}): OutgoingEnvelope => ({
  id: EnvelopeId.make(sampleId()),
  type: MessageType.make(message.type ?? takenType),
  tenantId: Namespace.make(message.tenant ?? "acme"),
  aggregateId: AggregateId.make(message.key ?? "call-1"),
  timestampMs: sampleNow,
  ...(message.correlationId === undefined
    ? {}
    : { correlationId: CorrelationId.make(message.correlationId) }),
  payloadJson: message.payloadJson ?? "{}",
})
