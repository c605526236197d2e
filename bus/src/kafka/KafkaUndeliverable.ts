// The undeliverable messages on the broker: a topic for each tenant, created with its first message. A message is
// identified by its offset there. Each contains the original message and its headers. A replay publishes the original
// with another header, which names the group that could not handle it. Other groups that use this package acknowledge it
// without handling it. Other readers of the topic can drop it as a repeat, by the id of the envelope.
import { pageBytesMax } from "@punctual/api/Limits"
import { Effect, Result } from "effect"
import { deleteRecordsV2 } from "../../../drivers/kafka/kafka.ts"
import { BusError } from "../Bus.ts"
import { decodeUndeliverable, encodeUndeliverable, type UndeliverableFacts } from "../Undeliverable.ts"
import {
  largestUndeliverablePage,
  type UndeliverableMessage,
  type UndeliverableMessages,
  type UndeliverablePage,
} from "../UndeliverableMessages.ts"
import type { KafkaCluster } from "./KafkaCluster.ts"
import { isLastingFailure, kafkaCodes, kafkaFailureText } from "./KafkaFailure.ts"
import { onlyGroupHeader } from "./KafkaIncoming.ts"
import { type KafkaOutgoing, type KafkaProducer, ProduceFailure } from "./KafkaProducer.ts"
import { ensureTopic, roomyConfig } from "./KafkaTopics.ts"
import { originOf, retryHeaders } from "./PartitionSlot.ts"
import { headerOf, type KafkaRecordIn, latest, offsetsAt } from "./partitionReads.ts"
import type { TopicNames } from "./TopicNames.ts"
import { type IndexedMessage, UndeliverableIndex } from "./UndeliverableIndex.ts"
import { whileMoving } from "./whileMoving.ts"

export interface UndeliverablePlace {
  readonly names: TopicNames
  readonly replicas: number
  /** The topic and the partition of a message with this type and key. `undefined` if the type has no topic. */
  routeOf(type: string, key: Buffer): Pick<KafkaOutgoing, "topic" | "partition"> | undefined
}

/** A record that a group could not handle. */
export interface AsideRecord {
  readonly record: KafkaRecordIn
  readonly topic: string
  readonly partition: number
  readonly tenant: string
  readonly facts: UndeliverableFacts
}

const topicsEnsuredMost = 10_000
/** If the broker takes no more, a message is cut to this many bytes. */
const cutBytes = 64 * 1_024
const partition = 0
const chunksMost = 8
const trimWithinMs = 5_000

const topicConfig = {
  ...roomyConfig,
  "cleanup.policy": "compact,delete",
  "retention.ms": "-1",
  "message.timestamp.type": "LogAppendTime",
}

type Port = UndeliverableMessages["Service"]

interface Located {
  readonly index: UndeliverableIndex
  readonly tenant: string
  readonly message: IndexedMessage
}

export class KafkaUndeliverable implements Port {
  readonly #cluster: KafkaCluster
  readonly #producer: KafkaProducer
  readonly #place: UndeliverablePlace
  readonly #indexes = new Map<string, UndeliverableIndex>()
  readonly #ensured = new Set<string>()
  /** The records that were read last, for each topic. Kept only during one call. */
  readonly #chunks = new Map<string, ReadonlyArray<KafkaRecordIn>>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(cluster: KafkaCluster, producer: KafkaProducer, place: UndeliverablePlace) {
    this.#cluster = cluster
    this.#producer = producer
    this.#place = place
  }

  /** Resolves when the message is stored. A repeat for the same message and group replaces the first. */
  setAside(aside: AsideRecord): Effect.Effect<void, BusError> {
    return this.#attempt("storing an undeliverable message", async () => {
      const topic = this.#place.names.ofUndeliverable(aside.tenant)
      if (topic === undefined) throw noTenant(aside.tenant)
      await this.#ensure(topic)
      try {
        await this.#producer.send([undeliverableFor(topic, aside)])
      } catch (error) {
        if (!(error instanceof ProduceFailure) || error.kafkaCode !== kafkaCodes.messageTooLarge) {
          this.#ensured.delete(topic)
          throw error
        }
        await this.#producer.send([undeliverableFor(topic, aside, cutBytes)])
      }
    })
  }

  readonly list: Port["list"] = (tenant, { cursor, limit }) =>
    this.#inTurn("reading undeliverable messages", async (): Promise<UndeliverablePage> => {
      const after = cursor === undefined ? undefined : parseCursor(cursor)
      if (cursor !== undefined && after === undefined) {
        throw new BusError({ message: "must be the cursor of an earlier page", isPermanent: true })
      }
      const located = await this.#located(tenant)
      const rest = after === undefined ? located : located.filter((one) => isAfter(one, after))
      return this.#page(rest, Math.max(1, Math.min(limit, largestUndeliverablePage)))
    })

  readonly find: Port["find"] = (tenant, id) =>
    this.#inTurn("reading undeliverable messages", async () => {
      const found = await this.#find(tenant, id)
      return found === undefined ? undefined : this.#open(found)
    })

  readonly replay: Port["replay"] = (tenant, id) =>
    this.#inTurn("replaying an undeliverable message", async () => {
      const found = await this.#find(tenant, id)
      const record = found && (await this.#recordOf(found))
      if (found === undefined || record === undefined) return "notFound"
      await this.#producer.send([this.#replayOf(found, record)])
      await this.#remove(found)
      return "replayed"
    })

  readonly discard: Port["discard"] = (tenant, id) =>
    this.#inTurn("discarding an undeliverable message", async () => {
      const found = await this.#find(tenant, id)
      if (found === undefined) return "notFound"
      await this.#remove(found)
      return "discarded"
    })

  get oldestAt(): Effect.Effect<number | undefined, BusError> {
    return this.#inTurn("reading undeliverable messages", async () => {
      await this.#refresh(undefined)
      const times = [...this.#indexes.values()].flatMap(({ oldest }) =>
        oldest === undefined ? [] : [oldest.storedAtMs],
      )
      return times.length === 0 ? undefined : Math.min(...times)
    })
  }

  async #page(rest: ReadonlyArray<Located>, most: number): Promise<UndeliverablePage> {
    const messages: Array<UndeliverableMessage> = []
    let bytes = 0
    for (const [walked, one] of rest.entries()) {
      if (walked === most || bytes >= pageBytesMax) {
        const last = rest[walked - 1]
        return last === undefined ? { messages } : { messages, next: cursorOf(last) }
      }
      const message = await this.#open(one)
      if (message === undefined) continue
      bytes += message.original.length
      messages.push(message)
    }
    return { messages }
  }

  /** All messages of the tenant, or of all tenants, oldest first. */
  async #located(tenant: string | undefined): Promise<ReadonlyArray<Located>> {
    const indexes = await this.#refresh(tenant)
    return indexes
      .flatMap((index) => {
        const owner = this.#place.names.tenantOf(index.topic) ?? ""
        return [...index.messages].map((message) => ({ index, tenant: owner, message }))
      })
      .toSorted(compareLocated)
  }

  async #find(tenant: string, id: string): Promise<Located | undefined> {
    const offset = /^(?:0|[1-9]\d{0,14})$/.test(id) ? Number(id) : Number.NaN
    if (Number.isNaN(offset) || this.#place.names.ofUndeliverable(tenant) === undefined) return undefined
    const [index] = await this.#refresh(tenant)
    const message = index?.at(offset)
    return index === undefined || message === undefined ? undefined : { index, tenant, message }
  }

  /** Reads what is new. Returns the indexes of the tenant, or of all tenants. */
  #refresh(tenant: string | undefined): Promise<ReadonlyArray<UndeliverableIndex>> {
    return whileMoving(() => this.#readNew(tenant))
  }

  async #readNew(tenant: string | undefined): Promise<ReadonlyArray<UndeliverableIndex>> {
    const { names } = this.#place
    const wanted = tenant === undefined ? undefined : names.ofUndeliverable(tenant)
    if (tenant !== undefined && wanted === undefined) return []
    const known = await this.#cluster.metadata(wanted === undefined ? null : [wanted])
    const topics = known.map(({ name }) => name).filter((name) => names.tenantOf(name) !== undefined)
    if (wanted === undefined) {
      for (const topic of this.#indexes.keys()) if (!topics.includes(topic)) this.#indexes.delete(topic)
    }
    const places = topics.map((topic) => ({ topic, partition }))
    const ends = await offsetsAt(this.#cluster, places, latest)
    for (const topic of topics) {
      const index = this.#indexes.get(topic) ?? new UndeliverableIndex(this.#cluster, topic)
      this.#indexes.set(topic, index)
      const end = ends.get(`${topic}:${partition}`) ?? 0
      if (end !== index.next) await index.readTo(end)
    }
    return topics.flatMap((topic) => this.#indexes.get(topic) ?? [])
  }

  /** A read brings many records, so neighbours on a page share it. */
  async #recordOf({ index, message }: Located): Promise<KafkaRecordIn | undefined> {
    const isIt = ({ offset }: KafkaRecordIn) => offset === message.offset
    const known = this.#chunks.get(index.topic)?.find(isIt)
    if (known !== undefined) return known
    const records = await index.recordsFrom(message.offset)
    if (this.#chunks.size >= chunksMost) this.#chunks.clear()
    this.#chunks.set(index.topic, records)
    return records.find(isIt)
  }

  /** `undefined` if the record is not an undeliverable message. */
  async #open(located: Located): Promise<UndeliverableMessage | undefined> {
    const record = await this.#recordOf(located)
    const opened = Result.getOrElse(decodeUndeliverable(record?.value ?? new Uint8Array(0)), () => undefined)
    const { tenant, message } = located
    if (opened === undefined) return undefined
    return { id: String(message.offset), tenant, storedAt: message.storedAtMs, ...opened }
  }

  #replayOf({ message, tenant }: Located, stored: KafkaRecordIn): KafkaOutgoing {
    const opened = Result.getOrElse(decodeUndeliverable(stored.value ?? new Uint8Array(0)), () => undefined)
    const unreplayable = (why: string) =>
      new BusError({
        message: `The undeliverable message ${message.offset} cannot be replayed: ${why}. It stays where it is.`,
        isPermanent: true,
      })
    if (opened === undefined) throw unreplayable("it is not an undeliverable message")
    if (opened.record.isCut === true) throw unreplayable("it was too large to be kept whole")
    const { envelope, group } = opened.record
    const key = Buffer.from(headerOf(stored, originalKeyHeader) ?? "")
    const route =
      (envelope && this.#place.routeOf(envelope.type, key)) ?? cameFrom(stored, this.#place.names, tenant)
    if (route === undefined) throw unreplayable("it does not name the topic from which it came")
    return {
      ...route,
      key,
      value: Buffer.from(opened.original),
      headers: {
        ...keptHeaders(stored),
        ...(group === undefined ? {} : { [onlyGroupHeader]: group }),
      },
    }
  }

  /** The broker removes the records before the first message that is left. */
  async #remove({ index, message }: Located): Promise<void> {
    const { topic } = index
    const headers = {}
    await this.#producer.send([
      { topic, partition, key: Buffer.from(message.key), value: undefined, headers },
    ])
    index.forget(message)
    const offset = index.oldest?.offset ?? message.offset + 1
    if (offset <= message.offset) return
    const nodeId = await this.#cluster.leaderOf(topic, partition)
    const partitions = [{ partitionIndex: partition, offset: BigInt(offset) }]
    // If this fails, the records stay until the next removal, or until the broker compacts the topic.
    await this.#cluster
      .ask({ nodeId, line: "trim" }, deleteRecordsV2, [{ name: topic, partitions }], trimWithinMs)
      .catch(() => {})
  }

  async #ensure(topic: string): Promise<void> {
    if (this.#ensured.has(topic)) return
    const { replicas } = this.#place
    await ensureTopic(this.#cluster, { name: topic, partitions: 1, replicas, config: topicConfig })
    if (this.#ensured.size >= topicsEnsuredMost) this.#ensured.clear()
    this.#ensured.add(topic)
  }

  /** One after the other, because they share the indexes. */
  #inTurn<A>(what: string, work: () => Promise<A>): Effect.Effect<A, BusError> {
    return this.#attempt(what, () => {
      const result = this.#last.then(work, work)
      this.#last = result.catch(() => {}).finally(() => this.#chunks.clear())
      return result
    })
  }

  #attempt<A>(what: string, work: () => Promise<A>): Effect.Effect<A, BusError> {
    return Effect.tryPromise({
      try: work,
      catch: (error) =>
        error instanceof BusError
          ? error
          : new BusError({
              message: `Kafka at ${this.#cluster.servers}, ${what}: ${kafkaFailureText(error)}.`,
              isPermanent: isLastingFailure(error),
            }),
    })
  }
}

/** The topic and partition on which the message arrived before it was set aside. */
const cameToHeader = "punctual-came-to"
const originalKeyHeader = "punctual-original-key"

const ownHeaders: ReadonlySet<string> = new Set([
  ...Object.values(retryHeaders),
  onlyGroupHeader,
  cameToHeader,
  originalKeyHeader,
])

const keptHeaders = ({ headers }: KafkaRecordIn): Record<string, string | Buffer> => {
  const kept: Record<string, string | Buffer> = {}
  for (const [name, value] of headers) {
    const text = name?.toString() ?? ""
    if (!ownHeaders.has(text)) kept[text] = value ?? Buffer.alloc(0)
  }
  return kept
}

const undeliverableFor = (
  topic: string,
  { record, topic: cameTo, partition: cameToPartition, facts }: AsideRecord,
  mostBytes?: number,
): KafkaOutgoing => {
  const original = record.value ?? new Uint8Array(0)
  const origin = headerOf(record, retryHeaders.origin) ?? originOf(record)
  return {
    topic,
    partition,
    key: Buffer.from(`${cameTo}/${cameToPartition}/${origin}/${facts.group ?? ""}`),
    value: Buffer.from(
      mostBytes === undefined
        ? encodeUndeliverable(facts, original)
        : encodeUndeliverable({ ...facts, isCut: true }, original.subarray(0, mostBytes)),
    ),
    headers: {
      ...(mostBytes === undefined ? keptHeaders(record) : {}),
      [cameToHeader]: `${cameTo}:${cameToPartition}`,
      [originalKeyHeader]: record.key ?? Buffer.alloc(0),
    },
  }
}

/** A message that is not an envelope goes back to where it came from, if that is a topic of this bus. */
const cameFrom = (
  stored: KafkaRecordIn,
  names: TopicNames,
  tenant: string,
): Pick<KafkaOutgoing, "topic" | "partition"> | undefined => {
  const [, topic = "", number = ""] = /^(.*):(\d{1,6})$/.exec(headerOf(stored, cameToHeader) ?? "") ?? []
  const isOwn = topic === names.base || topic.startsWith(`${names.base}.`)
  if (!isOwn || tenant === "" || topic.endsWith(".retry") || names.tenantOf(topic) !== undefined)
    return undefined
  return { topic, partition: Number(number) }
}

interface CursorPlace {
  readonly storedAtMs: number
  readonly tenant: string
  readonly offset: number
}

const cursorOf = ({ tenant, message: { storedAtMs, offset } }: Located): string =>
  `${storedAtMs}.${offset}.${tenant}`

const parseCursor = (cursor: string): CursorPlace | undefined => {
  const [, storedAtMs, offset, tenant = ""] = /^(\d{1,15})\.(\d{1,15})\.([A-Za-z0-9_-]+)$/.exec(cursor) ?? []
  return offset === undefined ? undefined : { storedAtMs: Number(storedAtMs), offset: Number(offset), tenant }
}

/** Within a tenant the offset decides, because the clock of the broker may go back. */
const comparePlaces = (a: CursorPlace, b: CursorPlace): number => {
  if (a.tenant === b.tenant) return a.offset - b.offset
  return a.storedAtMs - b.storedAtMs || (a.tenant < b.tenant ? -1 : 1)
}

const placeOf = ({ tenant, message: { storedAtMs, offset } }: Located): CursorPlace => ({
  storedAtMs,
  tenant,
  offset,
})

const compareLocated = (a: Located, b: Located): number => comparePlaces(placeOf(a), placeOf(b))

const isAfter = (one: Located, place: CursorPlace): boolean => comparePlaces(placeOf(one), place) > 0

const noTenant = (tenant: string): BusError =>
  new BusError({
    message: `${JSON.stringify(tenant)} is not a valid tenant, so it has no undeliverable messages.`,
  })
