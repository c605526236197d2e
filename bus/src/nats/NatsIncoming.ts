// One delivery as the broker makes it: what its reply address tells of the message, and the words by which it is
// answered. They go out at once and are not confirmed: one that is lost means another delivery.

import type { Effect } from "effect"
import type { Msg } from "../../../drivers/nats/nats.ts"
import type { BusError } from "../Bus.ts"
import type { Incoming } from "../Incoming.ts"
import type { UndeliverableFacts } from "../Undeliverable.ts"
import { onlyGroupHeader } from "./NatsUndeliverable.ts"
import type { Subjects } from "./Subjects.ts"

/** Where a message stands in the stream; the time tells it from one of a stream that was made anew. */
export interface StreamPlace {
  readonly sequence: string
  readonly storedAtNanos: string
}

export interface AsideMessage {
  readonly tenant: string
  readonly facts: UndeliverableFacts
  readonly message: Msg
  readonly place: StreamPlace
}

/** What a delivery needs of those who made it. */
export interface DeliveryContext {
  readonly subjects: Subjects
  setAside(setAside: AsideMessage): Effect.Effect<void, BusError>
  /** Says that a message shall come again at once, when the time for that has come. */
  handBack(say: () => void): void
}

export class NatsIncoming implements Incoming {
  readonly bytes: Uint8Array
  readonly delivery: number
  readonly addressedTenant: string | undefined
  readonly messageKey: string
  readonly onlyGroup: string | undefined
  readonly #message: Msg
  readonly #place: StreamPlace
  readonly #context: DeliveryContext

  private constructor(message: Msg, info: DeliveryInfo, context: DeliveryContext) {
    this.bytes = message.data
    this.delivery = info.delivery
    this.addressedTenant = context.subjects.tenantOf(message.subject)
    this.messageKey = `${info.place.sequence}-${info.place.storedAtNanos}`
    this.onlyGroup = onlyGroupOf(message)
    this.#message = message
    this.#place = info.place
    this.#context = context
  }

  /** Nothing if it is no delivery of a stream's message. */
  static of(message: Msg, context: DeliveryContext): NatsIncoming | undefined {
    const info = parseReply(message.reply ?? "")
    return info === undefined ? undefined : new NatsIncoming(message, info, context)
  }

  acknowledge(): void {
    this.#say("+ACK")
  }

  redeliverIn(delayMs: number): void {
    if (delayMs > 0) this.#say(`-NAK {"delay":${Math.ceil(delayMs * 1e6)}}`)
    else this.#context.handBack(() => this.#say("-NAK"))
  }

  keepWaiting(): void {
    this.#say("+WPI")
  }

  setAside(tenant: string, facts: UndeliverableFacts): Effect.Effect<void, BusError> {
    return this.#context.setAside({ tenant, facts, message: this.#message, place: this.#place })
  }

  #say(word: string): void {
    try {
      this.#message.respond(word)
    } catch {
      // The connection is closed: the message comes again, to whoever is there then.
    }
  }
}

/** Headers are read when they are first asked for, and the client throws at those it would not send itself. */
const onlyGroupOf = (message: Msg): string | undefined => {
  try {
    const group = message.headers?.get(onlyGroupHeader)
    return group === "" ? undefined : group
  } catch {
    return undefined
  }
}

interface DeliveryInfo {
  readonly delivery: number
  readonly place: StreamPlace
}

/**
 * `$JS.ACK.<stream>.<consumer>.<delivery>.<sequence>.<consumer sequence>.<stored at>.<pending>`; newer servers may
 * put a domain and an account before the stream, and a token at the end.
 */
export const parseReply = (reply: string): DeliveryInfo | undefined => {
  const tokens = reply.split(".")
  if (tokens[0] !== "$JS" || tokens[1] !== "ACK" || tokens.length < 9) return undefined
  const first = tokens.length === 9 ? 4 : 6
  const [delivery, sequence, , storedAtNanos] = tokens.slice(first)
  if (delivery === undefined || sequence === undefined || storedAtNanos === undefined) return undefined
  return { delivery: Number(delivery), place: { sequence, storedAtNanos } }
}
