// The undeliverable messages on the broker. All are in one quorum queue, each with the routing key of its tenant
// (`<prefix>.<tenant>.dlq`). Each contains the original message, its properties, and in headers of ours its id, when it
// was stored, and its original routing key for a replay. A replay goes to the exchange of the group that could not
// handle the message, so no other group gets it.
//
// The server puts a message here by itself if it delivered it too often without an answer. Such a message has no record
// of ours; the record is made from what the server says about it.
import { pageBytesMax } from "@punctual/api/Limits"
import { Effect, Result } from "effect"
import type { ConsumeMessage, Options } from "../../../drivers/rabbitmq/rabbitmq.ts"
import { BusError, whyNotGroup } from "../Bus.ts"
import type { RoutingTable } from "../RoutingTable.ts"
import {
  decodeUndeliverable,
  encodeUndeliverable,
  type OpenedUndeliverable,
  type UndeliverableFacts,
  unknownTenant,
} from "../Undeliverable.ts"
import {
  largestUndeliverablePage,
  type UndeliverableMessage,
  type UndeliverableMessages,
} from "../UndeliverableMessages.ts"
import { type KeptMessage, KeptMessages } from "./KeptMessages.ts"
import type { RabbitConnection } from "./RabbitConnection.ts"
import {
  deliveriesHeader,
  digestOf,
  headersOfMessage,
  messageKeyOf,
  replayOfHeader,
} from "./RabbitIncoming.ts"
import { isTenant, type RabbitNames, routingKeyOf, tenantOfRoutingKey } from "./RabbitNames.ts"
import type { RabbitOutgoing, RabbitPublisher } from "./RabbitPublisher.ts"
import { serverDeliveryLimit } from "./Topology.ts"

const idHeader = "Punctual-Id"
const storedAtHeader = "Punctual-Stored-At"
/** The routing key with which the message arrived before it was set aside. */
const cameToHeader = "Punctual-Came-To"
const messageIdHeader = "Punctual-Message-Id"
/** Base64 makes a message a third larger, and the record must fit into what servers accept. */
const keptBytesMax = 8 * 1_024 * 1_024

export interface RabbitUndeliverableParts {
  readonly connection: RabbitConnection
  readonly publisher: RabbitPublisher
  readonly names: RabbitNames
  readonly routing: RoutingTable
}

type Port = UndeliverableMessages["Service"]

export class RabbitUndeliverable implements Port {
  readonly #publisher: RabbitPublisher
  readonly #names: RabbitNames
  readonly #routing: RoutingTable
  readonly #kept: KeptMessages

  constructor({ connection, publisher, names, routing }: RabbitUndeliverableParts) {
    this.#publisher = publisher
    this.#names = names
    this.#routing = routing
    this.#kept = new KeptMessages(connection, names, (message) => placeOf(names, message))
  }

  /** Ends the reading, so that another process can read. */
  get close(): Effect.Effect<void> {
    return this.#kept.close
  }

  /** Resolves when the message is stored. A repeat for the same message gets the same id. */
  setAside(
    message: ConsumeMessage,
    tenant: string,
    facts: UndeliverableFacts,
  ): Effect.Effect<void, BusError> {
    const routingKey = this.#names.undeliverableKey(tenant)
    if (routingKey === undefined) return Effect.fail(noTenant(tenant))
    const isWhole = message.content.length <= keptBytesMax
    const bytes = isWhole
      ? encodeUndeliverable(facts, message.content)
      : encodeUndeliverable({ ...facts, isCut: true }, message.content.subarray(0, keptBytesMax))
    const { routingKey: cameTo } = message.fields
    const id = digestOf(facts.group ?? "", messageKeyOf(message), cameTo, message.content)
    const ours = {
      [idHeader]: id,
      [storedAtHeader]: Date.now(),
      [cameToHeader]: cameTo,
      ...(typeof message.properties.messageId === "string"
        ? { [messageIdHeader]: message.properties.messageId }
        : {}),
    }
    const send = (headers: Readonly<Record<string, unknown>>) =>
      this.#publisher.publish([
        {
          exchange: this.#names.undeliverable,
          routingKey,
          bytes,
          properties: { ...plainProperties(message), messageId: id, headers: { ...headers, ...ours } },
          isMandatory: true,
        },
      ])
    return send(plainHeaders(message)).pipe(
      // Headers of other programs may be too large to be sent again.
      Effect.catch((error) => (error.isPermanent ? send({}) : Effect.fail(error))),
      Effect.mapError(({ message: why }) => new BusError({ message: why })),
    )
  }

  readonly list: Port["list"] = (tenant, { cursor, limit }) => {
    const after = cursor === undefined ? "" : cursor
    if (cursor !== undefined && !cursorShape.test(cursor)) {
      return Effect.fail(
        new BusError({ message: "must be the cursor of an earlier page", isPermanent: true }),
      )
    }
    return this.#kept.use(async (reading) => {
      const most = Math.max(1, Math.min(limit, largestUndeliverablePage))
      const matching = reading
        .all()
        .filter((kept) => cursorOf(kept) > after && (tenant === undefined || kept.tenant === tenant))
      const messages: Array<UndeliverableMessage> = []
      let bytes = 0
      let walked = 0
      for (; walked < matching.length && walked < most && bytes < pageBytesMax; walked++) {
        const kept = matching[walked]
        const message = kept && messageIn(this.#names, kept)
        bytes += kept?.message.content.length ?? 0
        if (message !== undefined) messages.push(message)
      }
      const last = matching[walked - 1]
      return last === undefined || walked === matching.length
        ? { messages }
        : { messages, next: cursorOf(last) }
    })
  }

  readonly find: Port["find"] = (tenant, id) =>
    this.#kept.use(async (reading) => {
      const kept = reading.find(tenant, id)
      return kept && messageIn(this.#names, kept)
    })

  readonly replay: Port["replay"] = (tenant, id) =>
    this.#kept.use(async (reading) => {
      const kept = reading.find(tenant, id)
      if (kept === undefined) return "notFound" as const
      const outgoing = this.#replayOf(kept)
      if (typeof outgoing === "string") {
        throw new BusError({
          message: `The undeliverable message ${id} cannot be replayed: ${outgoing}. It stays where it is.`,
          isPermanent: true,
        })
      }
      await Effect.runPromise(this.#publisher.publish([outgoing]))
      await reading.remove(kept)
      return "replayed" as const
    })

  readonly discard: Port["discard"] = (tenant, id) =>
    this.#kept.use(async (reading) => {
      const kept = reading.find(tenant, id)
      if (kept === undefined) return "notFound" as const
      await reading.remove(kept)
      return "discarded" as const
    })

  get oldestAt(): Effect.Effect<number | undefined, BusError> {
    return this.#kept.oldestAt
  }

  /** The original message for its group, or why it cannot be replayed. */
  #replayOf(kept: KeptMessage): RabbitOutgoing | string {
    const opened = openedIn(this.#names, kept)
    if (opened === undefined) return "it is not an undeliverable message"
    const { record, original } = opened
    if (record.isCut === true) return "it was too large to be kept whole"
    const { message, tenant, id } = kept
    const headers = headersOfMessage(message)
    const { envelope, group } = record
    const routingKey =
      (envelope && routingKeyOf(tenant, envelope.aggregateId)) ??
      textIn(headers, cameToHeader) ??
      deathOf(message)?.routingKey
    if (routingKey === undefined) return "it does not name its original routing key"
    if (tenant !== unknownTenant && tenantOfRoutingKey(routingKey) !== tenant) {
      return `its original routing key is ${routingKey}, which does not belong to ${tenant}`
    }
    const topic = envelope && this.#routing.topicOf(envelope.type)
    const isGroup = group !== undefined && whyNotGroup(group) === undefined
    if (!isGroup && topic === undefined) return "it names neither a group nor a type that has a topic"
    const messageId = textIn(headers, messageIdHeader) ?? envelope?.id ?? id
    return {
      exchange: isGroup ? this.#names.groupExchange(group) : this.#names.topicExchange(topic ?? ""),
      routingKey,
      bytes: original,
      properties: {
        ...plainProperties(message),
        messageId,
        headers: { ...plainHeaders(message), [replayOfHeader]: id },
      },
      isMandatory: true,
    }
  }
}

/** The properties of a message that go with a copy of it. */
export const plainProperties = ({ properties }: ConsumeMessage): Options.Publish => ({
  persistent: true,
  ...(typeof properties.contentType === "string" ? { contentType: properties.contentType } : {}),
  ...(typeof properties.contentEncoding === "string" ? { contentEncoding: properties.contentEncoding } : {}),
  ...(typeof properties.correlationId === "string" ? { correlationId: properties.correlationId } : {}),
  ...(typeof properties.type === "string" ? { type: properties.type } : {}),
  ...(typeof properties.timestamp === "number" ? { timestamp: properties.timestamp } : {}),
})

const ownHeaders: ReadonlySet<string> = new Set([
  idHeader,
  storedAtHeader,
  cameToHeader,
  messageIdHeader,
  deliveriesHeader,
  replayOfHeader,
])

/** The headers that belong neither to the broker nor to us. */
export const plainHeaders = (message: ConsumeMessage): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(headersOfMessage(message)).filter(
      ([name]) => !/^x-/i.test(name) && !ownHeaders.has(name) && name !== "CC" && name !== "BCC",
    ),
  )

const textIn = (headers: Readonly<Record<string, unknown>>, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : undefined
}

/** Where a message of the queue belongs. `undefined` if it is not an undeliverable message. */
const placeOf = (names: RabbitNames, message: ConsumeMessage): Omit<KeptMessage, "message"> | undefined => {
  const headers = headersOfMessage(message)
  const { [idHeader]: id, [storedAtHeader]: storedAt } = headers
  if (typeof id === "string" && typeof storedAt === "number") {
    const tenant = names.tenantOfUndeliverableKey(message.fields.routingKey)
    return tenant === undefined || names.undeliverableKey(tenant) === undefined
      ? undefined
      : { id, storedAt, tenant }
  }
  const death = deathOf(message)
  if (death === undefined) return undefined
  const tenant = tenantOfRoutingKey(death.routingKey)
  return {
    id: digestOf(death.queue, messageKeyOf(message), death.routingKey, message.content),
    storedAt: death.at,
    tenant: isTenant(tenant) ? tenant : unknownTenant,
  }
}

interface Death {
  readonly queue: string
  readonly routingKey: string
  readonly at: number
}

/** What the server says about a message that it set aside by itself: the newest entry of its history comes first. */
const deathOf = (message: ConsumeMessage): Death | undefined => {
  const deaths: unknown = headersOfMessage(message)["x-death"]
  const newest: unknown = Array.isArray(deaths) ? deaths[0] : undefined
  if (typeof newest !== "object" || newest === null) return undefined
  // Every object can be read like this. The fields are checked below.
  const { queue, time, ["routing-keys"]: keys } = newest as Readonly<Record<string, unknown>>
  const routingKey: unknown = Array.isArray(keys) ? keys[0] : undefined
  const seconds = typeof time === "object" && time !== null && "value" in time ? time.value : undefined
  return typeof queue === "string" && typeof routingKey === "string"
    ? { queue, routingKey, at: typeof seconds === "number" ? seconds * 1_000 : 0 }
    : undefined
}

/** Sorts as text in the order of storing. */
const cursorOf = ({ storedAt, id }: KeptMessage): string => `${String(storedAt).padStart(15, "0")}-${id}`

const cursorShape = /^\d{15}-[0-9a-f]{32}$/

const messageIn = (names: RabbitNames, kept: KeptMessage): UndeliverableMessage | undefined => {
  const opened = openedIn(names, kept)
  const { id, tenant, storedAt } = kept
  return opened === undefined ? undefined : { id, tenant, storedAt, ...opened }
}

const openedIn = (
  names: RabbitNames,
  { message, storedAt }: KeptMessage,
): OpenedUndeliverable | undefined => {
  const isOurs = textIn(headersOfMessage(message), idHeader) !== undefined
  const bytes = isOurs ? message.content : recordOfServer(names, message, storedAt)
  return Result.getOrElse(decodeUndeliverable(bytes), () => undefined)
}

const recordOfServer = (names: RabbitNames, message: ConsumeMessage, at: number): Uint8Array => {
  const failure = {
    at,
    error: `the broker delivered it more than ${serverDeliveryLimit} times, and nobody answered`,
  }
  const group = names.groupOfQueue(deathOf(message)?.queue ?? "")
  return encodeUndeliverable(
    {
      reason: "deliveriesExhausted",
      deliveries: serverDeliveryLimit + 1,
      firstFailure: failure,
      lastFailure: failure,
      ...(group === undefined ? {} : { group }),
    },
    message.content,
  )
}

const noTenant = (tenant: string): BusError =>
  new BusError({
    message: `${JSON.stringify(tenant)} is not a valid tenant, so it has no undeliverable messages.`,
  })
