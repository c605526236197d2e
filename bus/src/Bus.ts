// Messages between products. An adapter translates to a broker and back; no word of the broker (a subject, a header, a
// sequence) crosses this line.
//
// Laws, tested by one suite that every adapter runs:
// - `publish` resolves when the broker has every envelope, and fails otherwise: then it may or may not have
//   some of them. It is bounded in time. Where the broker drops repeats, the same envelope id again, within the broker's
//   memory, is answered `isDuplicate` and is not handed out twice.
// - The routing table says which topic a type belongs to. A type without a topic is refused.
// - Every group gets every message of its topic at least once; the members of a group share them. Messages of one key,
//   that is tenantId and aggregateId, reach a group in the order of publishing, one at a time within a member; many keys
//   side by side. A message that comes again after a failure comes later than those behind it.
// - A group belongs to one topic, and its members take the same types.
// - A message is acknowledged for a group after the group's handler succeeded, never before.
// - A handler that fails is given the message again after 1, 5, 25, 25 s, with the delivery counted. After
//   the fifth failure, at once if it refuses the message, or on any delivery past the fifth, the message is stored as
//   undeliverable for this group first, and is acknowledged then.
// - A handler that says it cannot work now costs no delivery: nothing more is taken from the broker until it
//   can, and what was taken is kept.
// - Only messages of the subscription's types are handed to it; others are acknowledged. What is no envelope
//   is stored as undeliverable, bytes and all.
// - A handler may take as long as the acknowledgement may take; then it is interrupted, and has failed.

import { Context, type Effect, Schema, type Scope } from "effect"
import type { Envelope, OutgoingEnvelope } from "./Envelope.ts"

/** The broker did not take the envelopes, or did not say so in time. */
export class PublishError extends Schema.TaggedError<PublishError>()("PublishError", {
  message: Schema.String,
  /** The same again would fail the same way: too large, say, or without a route. */
  isPermanent: Schema.Boolean,
}) {}

/** The bus cannot be used: what is wrong and what to do. */
export class BusError extends Schema.TaggedError<BusError>()("BusError", {
  message: Schema.String,
  /** Only someone who changes the settings, here or at the broker, can help. */
  isPermanent: Schema.optionalKey(Schema.Boolean),
}) {}

/** Handling failed this time; another delivery may succeed. */
export class MessageFailed extends Schema.TaggedError<MessageFailed>()("MessageFailed", {
  message: Schema.String,
}) {}

/** No retry can help: the message is stored as undeliverable at once. */
export class MessageRefused extends Schema.TaggedError<MessageRefused>()("MessageRefused", {
  message: Schema.String,
}) {}

/** The handler cannot work now, whatever the message: it is asked again after the pause. */
export class HandlerUnavailable extends Schema.TaggedError<HandlerUnavailable>()("HandlerUnavailable", {
  message: Schema.String,
  retryAfterMs: Schema.Number,
}) {}

export type HandlerFailure = MessageFailed | MessageRefused | HandlerUnavailable

export interface Message {
  readonly envelope: Envelope
  /** The first is 1. */
  readonly delivery: number
  /** The payload as the JSON text it came as: numbers keep their digits. */
  readonly payloadJson: string
}

/** What happened to a message on its way, for those who count. */
export interface Observed {
  readonly event: "received" | "redelivered" | "processed" | "undeliverable" | "otherType"
  /** The namespace, or `_unknown`. */
  readonly tenant: string
  /** Of an `otherType`: which. */
  readonly type?: string
}

export interface Subscription {
  /** Who shares the messages: 1 to 32 of A-Z, a-z, 0-9, _ and -. */
  readonly group: string
  readonly topic: string
  /** What the handler takes. */
  readonly types: ReadonlySet<string>
  /** Runs with the message's metadata in its context: the correlation id, and the message as the cause. */
  handle(message: Message): Effect.Effect<void, HandlerFailure>
  observe(observed: Observed): void
}

export interface Published {
  readonly isDuplicate: boolean
}

/** What a broker can do by itself. An adapter states it; what the broker cannot do, the bus does, or does without. */
export interface BusAbilities {
  /** It brings a message back after a delay. Without that, the intake holds the message and times it. */
  readonly delays: boolean
  /** It drops what was published under the same id shortly before. Without that, handlers drop repeats by the id. */
  readonly dropsRepeats: boolean
  /** Undeliverable messages can be listed and removed. Without that, they are read with the broker's own tools. */
  readonly listsUndeliverable: boolean
}

export interface BusSample {
  readonly isConnected: boolean
  /** Messages of the group's topic that the group has not acknowledged yet, as far as the broker tells. */
  readonly lag: number
}

/** Who listens, where only this process can. */
export interface Audience {
  /** Whether a group takes messages of the type. */
  hears(type: string): boolean
  /** The listener is told when that may have changed. */
  onArrival(listener: () => void): void
}

export class Bus extends Context.Service<
  Bus,
  {
    readonly abilities: BusAbilities
    /** In the order given; an answer for each. */
    publish(envelopes: ReadonlyArray<OutgoingEnvelope>): Effect.Effect<ReadonlyArray<Published>, PublishError>
    /**
     * Messages are handled until the scope closes: then no more are taken, those at a handler may finish
     * within a bound, and the rest go back to the broker.
     */
    subscribe(subscription: Subscription): Effect.Effect<void, BusError, Scope.Scope>
    /** Of a group that subscribed here. */
    sample(group: string): Effect.Effect<BusSample, BusError>
    /** Why the bus has not begun yet: its broker was away at the start, and is still. Nothing once it has begun. */
    whyWaiting(): string | undefined
    /** Absent where other processes can listen: then nobody here knows who does. */
    readonly audience?: Audience
  }
>()("punctual/bus/Bus") {}

/** The name of a group becomes part of an address at some brokers. */
export const whyNotGroup = (group: string): string | undefined =>
  /^[A-Za-z0-9_-]{1,32}$/.test(group)
    ? undefined
    : `${JSON.stringify(group.slice(0, 40))} cannot name a group: use 1 to 32 of A-Z, a-z, 0-9, _ and -.`
