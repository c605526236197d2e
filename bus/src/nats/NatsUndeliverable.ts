// The undeliverable messages on the broker: messages on a tenant's own subject, found by their place in the stream. Each
// carries the message as it came, its headers, and in a header of ours the subject it came to, so that a replay
// can send it there again. A replay names the group that could not handle the message in another header: other groups
// that use this package acknowledge it unseen. Whoever reads the stream by other means drops it as a repeat, by the id of
// the envelope.

import { Effect, Result } from "effect"
import { headers, type MsgHdrs, type StoredMsg } from "../../../drivers/nats/nats.ts"
import { BusError } from "../Bus.ts"
import {
  decodeUndeliverable,
  encodeUndeliverable,
  type OpenedUndeliverable,
  type UndeliverableFacts,
} from "../Undeliverable.ts"
import {
  largestUndeliverablePage,
  type UndeliverableMessage,
  type UndeliverableMessages,
} from "../UndeliverableMessages.ts"
import { apiCodeOf, apiCodes } from "./BrokerFailure.ts"
import type { Connection } from "./Connection.ts"
import type { AsideMessage } from "./NatsIncoming.ts"
import { type NatsPublisher, type Outgoing, weightBytes } from "./NatsPublisher.ts"
import type { Subjects } from "./Subjects.ts"

/** Which group alone shall handle the message. */
export const onlyGroupHeader = "Punctual-Only-Group"
/** Where the message came to before it was set aside. */
export const cameToHeader = "Punctual-Came-To"
const messageIdHeader = "Nats-Msg-Id"

/** The stream, and what it says of one message's size if it has a bound of its own. */
export interface UndeliverablePlace {
  readonly stream: string
  readonly subjects: Subjects
  readonly streamMostBytes: number | undefined
}

/** A page of large messages is shorter: each is read whole, and may have as many bytes as the broker takes. */
const pageBytesAtMost = 16 * 1_024 * 1_024

type Port = UndeliverableMessages["Service"]

export class NatsUndeliverable implements Port {
  readonly #connection: Connection
  readonly #publisher: NatsPublisher
  readonly #place: UndeliverablePlace
  readonly #search = { streamCreated: "", from: 1 }

  constructor(connection: Connection, publisher: NatsPublisher, place: UndeliverablePlace) {
    this.#connection = connection
    this.#publisher = publisher
    this.#place = place
  }

  /** Resolves when it is stored. Repeated for the same message, it is stored once, as far as the broker remembers. */
  setAside({ tenant, facts, message, place }: AsideMessage): Effect.Effect<void, BusError> {
    const subject = this.#place.subjects.ofUndeliverable(tenant)
    if (subject === undefined) return Effect.fail(noTenant(tenant))
    const id = `undeliverable-${facts.group ?? ""}-${place.sequence}-${place.storedAtNanos}`
    const outgoing = undeliverableFor(subject, id, message, facts, this.#mostBytes)
    return Effect.asVoid(this.#publish(outgoing))
  }

  readonly list: Port["list"] = (tenant, { cursor, limit }) => {
    const self = this
    const { subjects } = this.#place
    return Effect.gen(function* () {
      const subject = tenant === undefined ? subjects.allUndeliverable : subjects.ofUndeliverable(tenant)
      const most = Math.max(1, Math.min(limit, largestUndeliverablePage))
      const messages: Array<UndeliverableMessage> = []
      let from = cursor === undefined ? 1 : sequenceOf(cursor) + 1
      if (Number.isNaN(from)) {
        return yield* new BusError({
          message: "must be one that an earlier page answered",
          isPermanent: true,
        })
      }
      if (subject === undefined) return { messages }
      let bytes = 0
      for (let walked = 0; walked < most && bytes < pageBytesAtMost; walked++) {
        const stored = yield* self.#nextOn(subject, from)
        if (stored === undefined) return { messages }
        from = stored.seq + 1
        const message = messageIn(subjects.tenantOf(stored.subject) ?? "", stored)
        bytes += stored.data.length
        if (message !== undefined) messages.push(message)
        else yield* Effect.logWarning(`${stored.seq} on ${stored.subject} is no undeliverable message`)
      }
      const more = yield* self.#nextOn(subject, from)
      return more === undefined ? { messages } : { messages, next: String(from - 1) }
    })
  }

  readonly find: Port["find"] = (tenant, id) =>
    Effect.map(this.#storedAs(tenant, id), (stored) =>
      stored === undefined ? undefined : messageIn(tenant, stored),
    )

  readonly replay: Port["replay"] = (tenant, id) => {
    const self = this
    return Effect.gen(function* () {
      const stored = yield* self.#storedAs(tenant, id)
      if (stored === undefined) return "notFound"
      const outgoing = yield* replayOf(self.#place.subjects, tenant, stored)
      const isDuplicate = yield* self.#publish(outgoing)
      if (isDuplicate) return "duplicate"
      yield* self.#remove(stored.seq)
      return "replayed"
    })
  }

  readonly discard: Port["discard"] = (tenant, id) =>
    Effect.flatMap(this.#storedAs(tenant, id), (stored) =>
      stored === undefined
        ? Effect.succeed("notFound")
        : Effect.map(this.#remove(stored.seq), (isRemoved) => (isRemoved ? "discarded" : "notFound")),
    )

  /**
   * Older servers look for it message by message, and keep others waiting meanwhile: so it is looked for from where it
   * was found last, or from where there was none yet. In a stream that was made anew the places mean other messages.
   */
  get oldestAt(): Effect.Effect<number | undefined, BusError> {
    const self = this
    const search = this.#search
    return Effect.gen(function* () {
      const { stream } = self.#place
      const { created, state } = yield* self.#connection.ask("reading the stream", (manager) =>
        manager.streams.info(stream),
      )
      if (created !== search.streamCreated) search.from = 1
      search.streamCreated = created
      const oldest = yield* self.#nextOn(self.#place.subjects.allUndeliverable, search.from)
      search.from = oldest?.seq ?? Math.max(search.from, state.last_seq + 1)
      return oldest?.time.getTime()
    })
  }

  get #mostBytes(): number {
    const { maxPayloadBytes } = this.#connection
    const { streamMostBytes = 0 } = this.#place
    return streamMostBytes > 0 ? Math.min(streamMostBytes, maxPayloadBytes) : maxPayloadBytes
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

  /** The message at that place, if it is an undeliverable message of this tenant. */
  #storedAs(tenant: string, id: string): Effect.Effect<StoredMsg | undefined, BusError> {
    const seq = sequenceOf(id)
    const subject = this.#place.subjects.ofUndeliverable(tenant)
    if (Number.isNaN(seq) || subject === undefined) return Effect.undefined
    return Effect.map(this.#get({ seq }), (stored) => (stored?.subject === subject ? stored : undefined))
  }

  #get(query: {
    readonly seq: number
    readonly next_by_subj?: string
  }): Effect.Effect<StoredMsg | undefined, BusError> {
    return this.#connection.ask("reading undeliverable messages", async (manager) => {
      const stored = await manager.streams.getMessage(this.#place.stream, query)
      return stored ?? undefined
    })
  }

  /** False if another was faster. */
  #remove(sequence: number): Effect.Effect<boolean, BusError> {
    return this.#connection
      .attempt((manager) => manager.streams.deleteMessage(this.#place.stream, sequence, false))
      .pipe(
        Effect.catch((error) =>
          apiCodeOf(error) === apiCodes.messageDeleteFailed
            ? Effect.succeed(false)
            : Effect.fail(this.#connection.refused(`removing the undeliverable message ${sequence}`, error)),
        ),
      )
  }
}

/**
 * Cut to what the broker takes, if it must be: first the message, then the headers it came with, and then what is
 * said of its failures. It must fit in any case: else the message would come again for ever.
 */
export const undeliverableFor = (
  subject: string,
  id: string,
  message: { readonly subject: string; readonly data: Uint8Array; readonly headers?: MsgHdrs },
  facts: UndeliverableFacts,
  mostBytes: number,
): Outgoing => {
  const whole = {
    subject,
    headers: asideHeaders(message, id),
    bytes: encodeUndeliverable(facts, message.data),
  }
  if (weightBytes(whole) <= mostBytes) return whole
  const framed = (
    kept: UndeliverableFacts,
    head: MsgHdrs,
    data: Uint8Array = new Uint8Array(0),
  ): Outgoing => ({
    subject,
    headers: head,
    bytes: encodeUndeliverable({ ...kept, isCut: true }, data),
  })
  const bareHeaders = asideHeaders({ subject: message.subject }, id)
  const [kept, head] =
    [[facts, whole.headers] as const, [facts, bareHeaders] as const].find(
      ([some, its]) => weightBytes(framed(some, its)) <= mostBytes / 2,
    ) ?? ([inBrief(facts), bareHeaders] as const)
  // Four characters of base64 stand for three bytes.
  const room = Math.max(0, Math.floor((mostBytes - weightBytes(framed(kept, head))) / 4) * 3)
  return framed(kept, head, message.data.subarray(0, room))
}

const briefChars = 20

const inBrief = (facts: UndeliverableFacts): UndeliverableFacts => ({
  ...facts,
  firstFailure: { ...facts.firstFailure, error: facts.firstFailure.error.slice(0, briefChars) },
  lastFailure: { ...facts.lastFailure, error: facts.lastFailure.error.slice(0, briefChars) },
})

const asideHeaders = (
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
 * a name with a space in it. Others do send them: a message shall not be kept from the undeliverable messages by that.
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
    if (/^nats-/i.test(name) || name === cameToHeader || name === onlyGroupHeader) continue
    for (const value of values) kept.append(name, value)
  }
  return kept
}

/**
 * The message as it first came. Its id is new, and the same for every replay of this undeliverable message. It goes to where
 * messages of its type go now: the subject that it first came to may no longer be read.
 */
const replayOf = (
  subjects: Subjects,
  tenant: string,
  stored: StoredMsg,
): Effect.Effect<Outgoing, BusError> => {
  const opened = openedIn(stored)
  const came = readable(() => stored.header)
  const cameTo = came?.get(cameToHeader) ?? ""
  if (opened === undefined) return Effect.fail(unreplayable(stored.seq, "it is no undeliverable message"))
  if (opened.record.isCut === true) {
    return Effect.fail(unreplayable(stored.seq, "it was too large to be kept whole"))
  }
  const { envelope } = opened.record
  const subject = (envelope && subjects.ofMessage(envelope.type, tenant)) ?? cameTo
  if (!subjects.mayReturnTo(tenant, subject)) {
    const where = subject === "" ? "it does not say where it came to" : `it came to ${subject}`
    return Effect.fail(unreplayable(stored.seq, `${where}, which is no address of ${tenant}`))
  }
  const outgoingHeaders = headersOf(came)
  const { group } = opened.record
  if (group !== undefined) outgoingHeaders.set(onlyGroupHeader, group)
  outgoingHeaders.set(messageIdHeader, `replay-${stored.seq}-${stored.time.getTime()}`)
  return Effect.succeed({ subject, headers: outgoingHeaders, bytes: opened.original })
}

const messageIn = (tenant: string, stored: StoredMsg): UndeliverableMessage | undefined => {
  const opened = openedIn(stored)
  if (opened === undefined) return undefined
  return { id: String(stored.seq), tenant, storedAt: stored.time.getTime(), ...opened }
}

const openedIn = (stored: StoredMsg): OpenedUndeliverable | undefined =>
  Result.getOrElse(decodeUndeliverable(stored.data), () => undefined)

/** NaN if it is none. */
const sequenceOf = (id: string): number => (/^[1-9]\d{0,14}$/.test(id) ? Number(id) : Number.NaN)

const noTenant = (tenant: string): BusError =>
  new BusError({ message: `${JSON.stringify(tenant)} is no tenant: it has no undeliverable messages.` })

const unreplayable = (sequence: number, why: string): BusError =>
  new BusError({
    message: `The undeliverable message ${sequence} cannot be replayed: ${why}. It stays where it is.`,
    isPermanent: true,
  })
