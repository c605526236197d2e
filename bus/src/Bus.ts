// Messages between products. An adapter translates between this port and a broker. The broker's own terms (subject,
// header, sequence) stay inside the adapter.
//
// One suite tests these laws, and every adapter runs it:
// - `publish` resolves when the broker has every envelope. If it fails, the broker may have some of them. A publish is
//   bounded in time. A broker that drops repeats remembers envelope ids for a while. It answers an id that it remembers
//   with `isDuplicate`, and does not deliver the envelope twice.
// - The routing table says which topic a type belongs to. The bus refuses a type without a topic. The table also says
//   which types need no subscriber: a message of such a type is published although no one listens.
// - Every group gets every message of its topic at least once, and the members of a group share the messages. The key
//   of a message is its tenantId and aggregateId. Messages of one key reach a group in the order of publishing, one at
//   a time within a member. Different keys run in parallel. A message that is retried comes after the messages behind
//   it, or, at a broker whose retries keep the order, the messages behind it in its key wait for it.
// - A group belongs to one topic, and all its members take the same types.
// - The bus acknowledges a message for a group after the group's handler has succeeded, never before.
// - If a handler fails, the bus delivers the message again after 1, 5, 25 and 25 s, and counts the deliveries. The bus
//   stores the message as undeliverable for this group after the fifth failure, on any delivery past the fifth, or at
//   once if the handler refuses the message. It acknowledges the message only after that.
// - A handler that is unavailable uses up no delivery. Until it is available again, the bus takes nothing more from the
//   broker, and keeps what it has already taken.
// - If a handler postpones a message, the message waits and uses up no delivery, and all other messages go on. The
//   number of such messages is bounded, for each tenant and in all. Beyond the bound, postponing counts as a failure.
// - A subscription gets only messages of its types. The bus acknowledges the others. Bytes that are not an envelope are
//   stored as undeliverable, unchanged.
// - A handler may take as long as the broker waits for the acknowledgement. Then the bus interrupts it and counts a
//   failure.

import { Context, type Effect, Schema, type Scope } from "effect"
import type { Envelope, OutgoingEnvelope } from "./Envelope.ts"

/** The broker did not accept the envelopes, or did not confirm them in time. */
export class PublishError extends Schema.TaggedError<PublishError>()("PublishError", {
  message: Schema.String,
  /** A retry would fail in the same way, for example because the message is too large or has no topic. */
  isPermanent: Schema.Boolean,
}) {}

/** The bus cannot be used. The message says what is wrong and what to do. */
export class BusError extends Schema.TaggedError<BusError>()("BusError", {
  message: Schema.String,
  /** A retry cannot help: somebody must change the settings, here or at the broker. */
  isPermanent: Schema.optionalKey(Schema.Boolean),
}) {}

/** Handling failed this time; another delivery may succeed. */
export class MessageFailed extends Schema.TaggedError<MessageFailed>()("MessageFailed", {
  message: Schema.String,
}) {}

/** No retry can help, so the bus stores the message as undeliverable at once. */
export class MessageRefused extends Schema.TaggedError<MessageRefused>()("MessageRefused", {
  message: Schema.String,
}) {}

/** The handler cannot handle any message now. The bus asks it again after the pause. */
export class HandlerUnavailable extends Schema.TaggedError<HandlerUnavailable>()("HandlerUnavailable", {
  message: Schema.String,
  retryAfterMs: Schema.Number,
}) {}

/** The handler cannot handle this message now, for a reason that concerns only its tenant. Others are handled. */
export class MessagePostponed extends Schema.TaggedError<MessagePostponed>()("MessagePostponed", {
  message: Schema.String,
  retryAfterMs: Schema.Number,
}) {}

export type HandlerFailure = MessageFailed | MessageRefused | MessagePostponed | HandlerUnavailable

export interface Message {
  readonly envelope: Envelope
  /** The first is 1. */
  readonly delivery: number
  /** The payload as the JSON text of the message, so that numbers keep their digits. */
  readonly payloadJson: string
}

/** What happened to a message, for metrics. */
export interface Observed {
  readonly event: "received" | "redelivered" | "processed" | "undeliverable" | "otherType"
  /** The namespace, or `_unknown`. */
  readonly tenant: string
  /** The type of the message; only for `otherType`. */
  readonly type?: string
}

export interface Subscription {
  /** The members of a group share its messages. The name has 1 to 32 characters of A-Z, a-z, 0-9, _ and -. */
  readonly group: string
  readonly topic: string
  /** The types that the handler takes. */
  readonly types: ReadonlySet<string>
  /** Runs with the message's metadata in its context: the correlation id, and the message as the cause. */
  handle(message: Message): Effect.Effect<void, HandlerFailure>
  observe(observed: Observed): void
}

export interface Published {
  readonly isDuplicate: boolean
}

/** What a broker can do by itself, as its adapter states it. The bus replaces a missing ability where it can. */
export interface BusAbilities {
  /** The broker delivers a message again after a delay. Without that, the intake holds the message until it is due. */
  readonly delays: boolean
  /** The broker drops a message whose id was published shortly before. Without that, handlers must drop repeats. */
  readonly dropsRepeats: boolean
  /**
   * A message that is retried keeps its place: later messages of its key wait until it is done. Without that, it comes
   * after the messages behind it.
   */
  readonly retriesInOrder: boolean
  /** A message that a stopping member gives back counts as delivered. At every broker, one whose handler ends with the process does. */
  readonly countsUnanswered: boolean
  /** The broker can list and remove undeliverable messages. Without that, operators use the broker's own tools. */
  readonly listsUndeliverable: boolean
}

export interface BusSample {
  readonly isConnected: boolean
  /** Messages of the group's topic that the group has not acknowledged yet, as far as the broker reports. */
  readonly lag: number
}

/** Which types have listeners. Only a bus inside one process can know this. */
export interface Audience {
  /** Whether a group takes messages of the type. */
  hears(type: string): boolean
  /** The bus calls the listener when the answer of `hears` may have changed. */
  onArrival(listener: () => void): void
}

export class Bus extends Context.Service<
  Bus,
  {
    readonly abilities: BusAbilities
    /** Publishes the envelopes in the order given, and returns one answer for each. */
    publish(envelopes: ReadonlyArray<OutgoingEnvelope>): Effect.Effect<ReadonlyArray<Published>, PublishError>
    /**
     * Handles messages until the scope closes. Then the subscription takes no more messages, running handlers may
     * finish within a bound, and the rest goes back to the broker.
     */
    subscribe(subscription: Subscription): Effect.Effect<void, BusError, Scope.Scope>
    /** The state of a group that subscribed through this bus. */
    sample(group: string): Effect.Effect<BusSample, BusError>
    /**
     * Why the bus has not started yet: its broker was unreachable at the start and still is, or a group cannot
     * subscribe yet. `undefined` once the bus has started.
     */
    whyWaiting(): string | undefined
    /** Absent if other processes can listen, because this process cannot know about them. */
    readonly audience?: Audience
  }
>()("punctual/bus/Bus") {}

/** Why the name cannot be used for a group. At some brokers the name becomes part of an address. */
export const whyNotGroup = (group: string): string | undefined =>
  /^[A-Za-z0-9_-]{1,32}$/.test(group)
    ? undefined
    : `${JSON.stringify(group.slice(0, 40))} is not a valid name of a group: use 1 to 32 of A-Z, a-z, 0-9, _ and -.`
