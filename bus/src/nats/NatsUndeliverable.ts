// The undeliverable messages on the broker. They are messages on a subject of their tenant, identified by their
// sequence in the stream. Each contains the original message, its headers, and, in a header of ours, its original
// subject for a replay. A replay adds another header with the group that could not handle the message. Other groups
// that use this package acknowledge it without handling it. Other readers of the stream can drop it as a repeat, by the
// id of the envelope.

import { pageBytesMax } from "@punctual/api/Limits"
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

/** The only group that handles the message. */
export const onlyGroupHeader = "Punctual-Only-Group"
/** The subject on which the message arrived before it was set aside. */
export const cameToHeader = "Punctual-Came-To"
const messageIdHeader = "Nats-Msg-Id"

/** The stream, and its own limit for the size of a message, if it has one. */
export interface UndeliverablePlace {
  readonly stream: string
  readonly subjects: Subjects
  readonly streamMostBytes: number | undefined
}

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

  /**
   * Resolves when the message is stored. A repeat for the same message is dropped while the broker remembers the id.
   */
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
          message: "must be the cursor of an earlier page",
          isPermanent: true,
        })
      }
      if (subject === undefined) return { messages }
      let bytes = 0
      for (let walked = 0; walked < most && bytes < pageBytesMax; walked++) {
        const stored = yield* self.#nextOn(subject, from)
        if (stored === undefined) return { messages }
        from = stored.seq + 1
        const message = messageIn(subjects.tenantOf(stored.subject) ?? "", stored)
        bytes += stored.data.length
        if (message !== undefined) messages.push(message)
        else yield* Effect.logWarning(`${stored.seq} on ${stored.subject} is not an undeliverable message`)
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
   * Older servers search message by message, and block other requests meanwhile. So each search starts where the last
   * one found the oldest message, or where it ended without finding any. In a recreated stream the positions mean other
   * messages.
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

  /** Returns whether it was a duplicate. */
  #publish(outgoing: Outgoing): Effect.Effect<boolean, BusError> {
    return this.#publisher.publish([outgoing]).pipe(
      Effect.map(([stored]) => stored?.isDuplicate === true),
      Effect.mapError(({ message }) => new BusError({ message })),
    )
  }

  #nextOn(subject: string, fromSequence: number): Effect.Effect<StoredMsg | undefined, BusError> {
    return this.#get({ seq: fromSequence, next_by_subj: subject })
  }

  /** The message with this id, if it is an undeliverable message of this tenant. */
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

  /** False if somebody else removed it first. */
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
 * Cuts the record to the size that the broker accepts: first the message, then its headers, then the descriptions of
 * its failures. The record must always fit, because otherwise the message would be delivered again without end.
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
  // Base64 uses four characters for three bytes.
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
 * The client parses headers on first use, and throws on headers that it would not send itself, such as a name with a
 * space. Other clients do send them. That must not keep a message out of the undeliverable messages.
 */
const readable = (read: () => MsgHdrs | undefined): MsgHdrs | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** The headers that do not belong to the broker. */
const headersOf = (original: MsgHdrs | undefined): MsgHdrs => {
  const kept = headers()
  for (const [name, values] of original ?? []) {
    if (/^nats-/i.test(name) || name === cameToHeader || name === onlyGroupHeader) continue
    for (const value of values) kept.append(name, value)
  }
  return kept
}

/**
 * The original message with a new id, which is the same for every replay of this undeliverable message. It goes to the
 * current subject of its type, because the original subject may no longer have a reader.
 */
const replayOf = (
  subjects: Subjects,
  tenant: string,
  stored: StoredMsg,
): Effect.Effect<Outgoing, BusError> => {
  const opened = openedIn(stored)
  const came = readable(() => stored.header)
  const cameTo = came?.get(cameToHeader) ?? ""
  if (opened === undefined) return Effect.fail(unreplayable(stored.seq, "it is not an undeliverable message"))
  if (opened.record.isCut === true) {
    return Effect.fail(unreplayable(stored.seq, "it was too large to be kept whole"))
  }
  const { envelope } = opened.record
  const subject = (envelope && subjects.ofMessage(envelope.type, tenant)) ?? cameTo
  if (!subjects.mayReturnTo(tenant, subject)) {
    const where =
      subject === "" ? "it does not name its original subject" : `its original subject is ${subject}`
    return Effect.fail(unreplayable(stored.seq, `${where}, which is not a subject of ${tenant}`))
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

/** NaN if the id is not a sequence. */
const sequenceOf = (id: string): number => (/^[1-9]\d{0,14}$/.test(id) ? Number(id) : Number.NaN)

const noTenant = (tenant: string): BusError =>
  new BusError({
    message: `${JSON.stringify(tenant)} is not a valid tenant, so it has no undeliverable messages.`,
  })

const unreplayable = (sequence: number, why: string): BusError =>
  new BusError({
    message: `The undeliverable message ${sequence} cannot be replayed: ${why}. It stays where it is.`,
    isPermanent: true,
  })
