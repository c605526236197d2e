// Messages to and from other services. An adapter translates to a broker and back; no word of the broker (a
// subject, a header, a sequence) crosses this line.
//
// Laws, tested by one suite that every adapter runs:
// - `publish` resolves when the broker has every envelope, and fails otherwise: then it may or may not have
//   some of them. The same envelope id again, within the broker's memory, is answered `isDuplicate` and is
//   not handed out twice. It is bounded in time.
// - What is published reaches the subscription of its topic at least once; messages of one key, that is
//   tenantId and aggregateId, in the order of publishing, one at a time; many keys side by side. A message
//   that comes again after a failure comes later than those behind it.
// - A message is acknowledged after its handler succeeded, never before.
// - A handler that fails is given the message again after 1, 5, 25, 25 s, with the delivery counted. After
//   the fifth failure, at once if it refuses the message, or on any delivery past the fifth, the message goes
//   to the dead letters of its tenant first, and is acknowledged then.
// - A handler that says it cannot work now costs no delivery: nothing more is taken from the broker until it
//   can, and what was taken is kept.
// - Only messages of the subscription's types are handed to it; others are acknowledged. What is no envelope
//   goes to the dead letters, bytes and all.
// - A handler may take as long as the acknowledgement may take; then it is interrupted, and has failed.
import type { DeadLetter } from "@punctual/api/DeadLetter"
import type { Envelope, SealedEnvelope } from "@punctual/api/Envelope"
import { Context, type Effect, Schema, type Scope } from "effect"

/** What messages are about: every type belongs to one topic. */
export type Topic = "serviceCall"

/** The broker did not take the envelopes, or did not say so in time. */
export class PublishError extends Schema.TaggedError<PublishError>()("PublishError", {
  message: Schema.String,
  /** The same again would fail the same way: too large, say, or without a route. */
  isPermanent: Schema.Boolean,
}) {}

/** The bus cannot be used: what is wrong and what to do. */
export class BusError extends Schema.TaggedError<BusError>()("BusError", { message: Schema.String }) {}

/** Handling failed this time; another delivery may succeed. */
export class MessageFailed extends Schema.TaggedError<MessageFailed>()("MessageFailed", {
  message: Schema.String,
}) {}

/** No retry can mend it: to the dead letters at once. */
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
}

/** What happened to a message on its way, for those who count. */
export interface Observed {
  readonly event: "received" | "redelivered" | "processed" | "deadLettered" | "otherType"
  /** The namespace, or `_unknown`. */
  readonly tenant: string
  /** Of an `otherType`: which. */
  readonly type?: string
}

export interface Subscription {
  readonly topic: Topic
  /** What the handler takes. */
  readonly types: ReadonlySet<string>
  /** Runs with the message's metadata in its context: the correlation id, and the message as the cause. */
  handle(message: Message): Effect.Effect<void, HandlerFailure>
  observe(observed: Observed): void
}

export interface Published {
  readonly isDuplicate: boolean
}

export interface DeadLetterEntry {
  /** Names it for `replay` and `discard`; the bus's own. */
  readonly id: string
  readonly tenant: string
  readonly diedAt: number
  readonly letter: DeadLetter
  /** The message as it came. */
  readonly original: Uint8Array
}

/** The messages that could not be handled, by tenant: a namespace, or `_unknown`. */
export interface DeadLetters {
  /** Oldest first. */
  list(
    tenant: string,
    page: { readonly cursor?: string; readonly limit: number },
  ): Effect.Effect<{ readonly entries: ReadonlyArray<DeadLetterEntry>; readonly next?: string }, BusError>
  find(tenant: string, id: string): Effect.Effect<DeadLetterEntry | undefined, BusError>
  /**
   * Publishes the message as it first came to where it first came, and removes the dead letter. `duplicate`:
   * the broker had it from an earlier replay; nothing was published and the dead letter stays.
   */
  replay(tenant: string, id: string): Effect.Effect<"replayed" | "duplicate" | "notFound", BusError>
  discard(tenant: string, id: string): Effect.Effect<"discarded" | "notFound", BusError>
}

export interface BusSample {
  readonly isConnected: boolean
  /** Messages of the subscription's topic that were not acknowledged yet, as far as the broker tells. */
  readonly lag: number
  readonly oldestDeadLetterAt?: number
}

export class Bus extends Context.Service<
  Bus,
  {
    /** In the order given; an answer for each. */
    publish(envelopes: ReadonlyArray<SealedEnvelope>): Effect.Effect<ReadonlyArray<Published>, PublishError>
    /**
     * Messages are handled until the scope closes: then no more are taken, those at a handler may finish
     * within a bound, and the rest go back to the broker.
     */
    subscribe(subscription: Subscription): Effect.Effect<void, BusError, Scope.Scope>
    readonly sample: Effect.Effect<BusSample, BusError>
    readonly deadLetters: DeadLetters
  }
>()("punctual/ports/Bus") {}
