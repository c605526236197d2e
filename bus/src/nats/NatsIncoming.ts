// One delivery from the broker: the facts in its reply address, and the answers to the broker. Answers are sent at once
// and are not confirmed. If an answer is lost, the broker delivers the message again.

import type { Effect } from "effect"
import type { Msg } from "../../../drivers/nats/nats.ts"
import type { BusError } from "../Bus.ts"
import type { Incoming } from "../Incoming.ts"
import type { UndeliverableFacts } from "../Undeliverable.ts"
import { onlyGroupHeader } from "./NatsUndeliverable.ts"
import type { Subjects } from "./Subjects.ts"

/** The position of a message in the stream. The time distinguishes it from a message of a recreated stream. */
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

/** What a delivery needs from its subscription. */
export interface DeliveryContext {
  readonly subjects: Subjects
  setAside(setAside: AsideMessage): Effect.Effect<void, BusError>
  /** Calls `say`, which gives a message back to the broker, as soon as that is safe. */
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

  /** `undefined` if the message is not a delivery from a stream. */
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
      // The connection is closed. The broker delivers the message again, to any member that listens then.
    }
  }
}

/** The client parses headers on first use, and throws on headers that it would not send itself. */
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
 * `$JS.ACK.<stream>.<consumer>.<delivery>.<sequence>.<consumer sequence>.<stored at>.<pending>`. Newer servers may put
 * a domain and an account before the stream, and a token at the end.
 */
export const parseReply = (reply: string): DeliveryInfo | undefined => {
  const tokens = reply.split(".")
  if (tokens[0] !== "$JS" || tokens[1] !== "ACK" || tokens.length < 9) return undefined
  const first = tokens.length === 9 ? 4 : 6
  const [delivery, sequence, , storedAtNanos] = tokens.slice(first)
  if (delivery === undefined || sequence === undefined || storedAtNanos === undefined) return undefined
  return { delivery: Number(delivery), place: { sequence, storedAtNanos } }
}
