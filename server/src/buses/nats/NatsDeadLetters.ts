// The dead letters on the broker: messages on a tenant's own subject, found by their place in the stream. Each
// carries the message as it came, its headers, and in a header of ours the subject it came to, so that a replay
// can send it there again.

import {
  type DeadLetterFacts,
  decodeDeadLetter,
  encodeDeadLetter,
  type OpenedDeadLetter,
} from "@punctual/api/DeadLetter"
import { Effect, Result, type Scope } from "effect"
import { headers, type MsgHdrs, type StoredMsg } from "../../../../drivers/nats/nats.ts"
import { BusError, type DeadLetterEntry, type DeadLetters } from "../../ports/Bus.ts"
import { apiCodeOf, apiCodes } from "./BrokerFailure.ts"
import { Connection, type ConnectionSettings } from "./Connection.ts"
import type { Burial } from "./NatsDelivered.ts"
import { NatsPublisher, type Outgoing, weightBytes } from "./NatsPublisher.ts"
import { allDeadLetters, deadLetterSubject, mayReturnTo, streamName } from "./Routing.ts"
import { requireStream } from "./StreamSetup.ts"

/** Where the message came to before it died. */
export const cameToHeader = "Punctual-Came-To"
const messageIdHeader = "Nats-Msg-Id"

const largestPage = 1_000

export class NatsDeadLetters implements DeadLetters {
  readonly #connection: Connection
  readonly #publisher: NatsPublisher
  /** Of one message, if the stream has a bound of its own. */
  readonly #mostBytes: () => number

  constructor(connection: Connection, publisher: NatsPublisher, streamMostBytes: number | undefined) {
    this.#connection = connection
    this.#publisher = publisher
    this.#mostBytes = () => {
      const { maxPayloadBytes } = connection
      const isBounded = streamMostBytes !== undefined && streamMostBytes > 0
      return isBounded ? Math.min(streamMostBytes, maxPayloadBytes) : maxPayloadBytes
    }
  }

  /** For commands that look after dead letters: a connection of its own, no consumer, the stream must be there. */
  static readonly open = Effect.fn("NatsDeadLetters.open")(function* (
    settings: ConnectionSettings & { readonly publishTimeoutMs: number },
  ): Effect.fn.Return<DeadLetters, BusError, Scope.Scope> {
    const connection = yield* Connection.open(settings)
    const { config } = yield* requireStream(connection)
    const publisher = yield* NatsPublisher.make(connection, settings.publishTimeoutMs)
    return new NatsDeadLetters(connection, publisher, config.max_msg_size)
  })

  /** Resolves when it is stored. Repeated for the same message, it is stored once, as far as the broker remembers. */
  bury({ tenant, facts, message, place }: Burial): Effect.Effect<void, BusError> {
    const subject = deadLetterSubject(tenant)
    if (subject === undefined) return Effect.fail(noTenant(tenant))
    const id = `dead-${place.sequence}-${place.storedAtNanos}`
    const outgoing = deadLetterFor(subject, id, message, facts, this.#mostBytes())
    return Effect.asVoid(this.#publish(outgoing))
  }

  readonly list: DeadLetters["list"] = (tenant, { cursor, limit }) => {
    const self = this
    return Effect.gen(function* () {
      const subject = deadLetterSubject(tenant)
      const most = Math.max(1, Math.min(limit, largestPage))
      const entries: Array<DeadLetterEntry> = []
      let from = cursor === undefined ? 1 : sequenceOf(cursor) + 1
      if (subject === undefined || Number.isNaN(from)) return { entries }
      for (let walked = 0; walked < most; walked++) {
        const stored = yield* self.#nextOn(subject, from)
        if (stored === undefined) return { entries }
        from = stored.seq + 1
        const entry = entryOf(tenant, stored)
        if (entry !== undefined) entries.push(entry)
        else yield* Effect.logWarning(`message ${stored.seq} on ${subject} is no dead letter and is left out`)
      }
      const more = yield* self.#nextOn(subject, from)
      return more === undefined ? { entries } : { entries, next: String(from - 1) }
    })
  }

  readonly find: DeadLetters["find"] = (tenant, id) =>
    Effect.map(this.#storedAs(tenant, id), (stored) =>
      stored === undefined ? undefined : entryOf(tenant, stored),
    )

  readonly replay: DeadLetters["replay"] = (tenant, id) => {
    const self = this
    return Effect.gen(function* () {
      const stored = yield* self.#storedAs(tenant, id)
      if (stored === undefined) return "notFound"
      const outgoing = yield* replayOf(tenant, stored)
      const isDuplicate = yield* self.#publish(outgoing)
      if (isDuplicate) return "duplicate"
      yield* self.#remove(stored.seq)
      return "replayed"
    })
  }

  readonly discard: DeadLetters["discard"] = (tenant, id) =>
    Effect.flatMap(this.#storedAs(tenant, id), (stored) =>
      stored === undefined
        ? Effect.succeed("notFound")
        : Effect.map(this.#remove(stored.seq), (isRemoved) => (isRemoved ? "discarded" : "notFound")),
    )

  /** The oldest of all tenants from that place in the stream on: where it is, and when it came there. */
  oldestFrom(
    sequence: number,
  ): Effect.Effect<{ readonly sequence: number; readonly diedAt: number } | undefined, BusError> {
    return Effect.map(
      this.#nextOn(allDeadLetters, sequence),
      (stored) => stored && { sequence: stored.seq, diedAt: stored.time.getTime() },
    )
  }

  /** Whether it was a duplicate. */
  #publish(outgoing: Outgoing): Effect.Effect<boolean, BusError> {
    return this.#publisher.publish([outgoing]).pipe(
      Effect.map(([stored]) => stored?.isDuplicate === true),
      Effect.mapError(({ message }) => new BusError({ message })),
    )
  }

  #nextOn(subject: string, fromSequence: number): Effect.Effect<StoredMsg | undefined, BusError> {
    return this.#get({ seq: fromSequence, next_by_subj: subject })
  }

  /** The message at that place, if it is a dead letter of this tenant. */
  #storedAs(tenant: string, id: string): Effect.Effect<StoredMsg | undefined, BusError> {
    const seq = sequenceOf(id)
    const subject = deadLetterSubject(tenant)
    if (Number.isNaN(seq) || subject === undefined) return Effect.undefined
    return Effect.map(this.#get({ seq }), (stored) => (stored?.subject === subject ? stored : undefined))
  }

  #get(query: {
    readonly seq: number
    readonly next_by_subj?: string
  }): Effect.Effect<StoredMsg | undefined, BusError> {
    return this.#connection.ask("reading dead letters", async (manager) => {
      const stored = await manager.streams.getMessage(streamName, query)
      return stored ?? undefined
    })
  }

  /** False if another was faster. */
  #remove(sequence: number): Effect.Effect<boolean, BusError> {
    return this.#connection
      .attempt((manager) => manager.streams.deleteMessage(streamName, sequence, false))
      .pipe(
        Effect.catch((error) =>
          apiCodeOf(error) === apiCodes.messageDeleteFailed
            ? Effect.succeed(false)
            : Effect.fail(this.#connection.refused(`removing the dead letter ${sequence}`, error)),
        ),
      )
  }
}

/**
 * Cut to what the broker takes, if it must be: first the message, then the headers it came with, and then what is
 * said of its failures. It must fit in any case: else the message would come again for ever.
 */
export const deadLetterFor = (
  subject: string,
  id: string,
  message: { readonly subject: string; readonly data: Uint8Array; readonly headers?: MsgHdrs },
  facts: DeadLetterFacts,
  mostBytes: number,
): Outgoing => {
  const whole = { subject, headers: letterHeaders(message, id), bytes: encodeDeadLetter(facts, message.data) }
  if (weightBytes(whole) <= mostBytes) return whole
  const framed = (kept: DeadLetterFacts, head: MsgHdrs, data: Uint8Array = new Uint8Array(0)): Outgoing => ({
    subject,
    headers: head,
    bytes: encodeDeadLetter({ ...kept, isCut: true }, data),
  })
  const bareHeaders = letterHeaders({ subject: message.subject }, id)
  const [kept, head] =
    [[facts, whole.headers] as const, [facts, bareHeaders] as const].find(
      ([some, its]) => weightBytes(framed(some, its)) <= mostBytes / 2,
    ) ?? ([inBrief(facts), bareHeaders] as const)
  // Four characters of base64 stand for three bytes.
  const room = Math.max(0, Math.floor((mostBytes - weightBytes(framed(kept, head))) / 4) * 3)
  return framed(kept, head, message.data.subarray(0, room))
}

const briefChars = 20

const inBrief = (facts: DeadLetterFacts): DeadLetterFacts => ({
  ...facts,
  firstFailure: { ...facts.firstFailure, error: facts.firstFailure.error.slice(0, briefChars) },
  lastFailure: { ...facts.lastFailure, error: facts.lastFailure.error.slice(0, briefChars) },
})

const letterHeaders = (
  message: { readonly subject: string; readonly headers?: MsgHdrs },
  id: string,
): MsgHdrs => {
  const kept = headersOf(readable(() => message.headers))
  kept.set(cameToHeader, message.subject)
  kept.set(messageIdHeader, id)
  return kept
}

/**
 * Headers are read when they are first asked for, and the client throws at those it would not send itself, such as
 * a name with a space in it. Others do send them: a message shall not be kept from the dead letters by that.
 */
const readable = (read: () => MsgHdrs | undefined): MsgHdrs | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Those that are not the broker's own. */
const headersOf = (original: MsgHdrs | undefined): MsgHdrs => {
  const kept = headers()
  for (const [name, values] of original ?? []) {
    if (/^nats-/i.test(name) || name === cameToHeader) continue
    for (const value of values) kept.append(name, value)
  }
  return kept
}

/** The message as it first came. Its id is new, and the same for every replay of this dead letter. */
const replayOf = (tenant: string, stored: StoredMsg): Effect.Effect<Outgoing, BusError> => {
  const opened = openedIn(stored)
  const came = readable(() => stored.header)
  const subject = came?.get(cameToHeader) ?? ""
  if (opened === undefined) return Effect.fail(unreplayable(stored.seq, "it is no dead letter"))
  if (opened.letter.isCut === true) {
    return Effect.fail(unreplayable(stored.seq, "it was too large to be kept whole"))
  }
  if (!mayReturnTo(tenant, subject)) {
    const where = subject === "" ? "it does not say where it came to" : `it came to ${subject}`
    return Effect.fail(unreplayable(stored.seq, `${where}, which is no address of ${tenant}`))
  }
  const outgoingHeaders = headersOf(came)
  outgoingHeaders.set(messageIdHeader, `replay-${stored.seq}-${stored.time.getTime()}`)
  return Effect.succeed({ subject, headers: outgoingHeaders, bytes: opened.original })
}

const entryOf = (tenant: string, stored: StoredMsg): DeadLetterEntry | undefined => {
  const opened = openedIn(stored)
  if (opened === undefined) return undefined
  return { id: String(stored.seq), tenant, diedAt: stored.time.getTime(), ...opened }
}

const openedIn = (stored: StoredMsg): OpenedDeadLetter | undefined =>
  Result.getOrElse(decodeDeadLetter(stored.data), () => undefined)

/** NaN if it is none. */
const sequenceOf = (id: string): number => (/^[1-9]\d{0,14}$/.test(id) ? Number(id) : Number.NaN)

const noTenant = (tenant: string): BusError =>
  new BusError({ message: `${JSON.stringify(tenant)} is no tenant: it has no dead letters.` })

const unreplayable = (sequence: number, why: string): BusError =>
  new BusError({ message: `The dead letter ${sequence} cannot be replayed: ${why}. It stays where it is.` })
