// Publishes records as an idempotent producer: every broker that must have a record has it before the call succeeds
// (acks=all), and a batch that is sent again is stored once. Records to one partition are stored in the order of the
// calls.
//
// Each broker gets one request at a time, with a batch for each partition that it leads. Records that come in the
// meantime wait for the next request, so the batches grow with the load. A batch whose answer is missing is sent again
// unchanged, with the same numbers, until its records are too old. Then nobody knows whether the broker has them. The
// broker would refuse the next number, so the producer gets a new identity first.
import { initProducerIdV3, type MessageRecord, NumericMap, produceV9 } from "../../../drivers/kafka/kafka.ts"
import type { BrokerLine, KafkaCluster } from "./KafkaCluster.ts"
import { KafkaRefusal, kafkaCodeOf, kafkaCodes, kafkaFailureText } from "./KafkaFailure.ts"
import { pause } from "./within.ts"

export interface KafkaOutgoing {
  readonly topic: string
  readonly partition: number
  readonly key: Buffer | undefined
  /** Absent in a record that removes an earlier one with the same key. */
  readonly value: Buffer | undefined
  readonly headers: Readonly<Record<string, string | Buffer>>
}

/** The limit over all calls. Beyond it, calls fail with an error that is not permanent. */
const outstandingMost = 50_000
const outstandingBytesMost = 64 * 1_024 * 1_024
const batchRecordsMost = 1_000
/** Less than what a broker accepts by default. A single record may be larger. */
const batchBytesMost = 800_000
const requestBytesMost = 4 * 1_024 * 1_024
/** What a record needs beside its key, value and headers, at most. */
const recordOverheadBytes = 64
const batchOverheadBytes = 128
const firstPauseMs = 50
const longestPauseMs = 1_000
const sequencesBelow = 2 ** 31

/** The broker did not take a record, or did not confirm it in time. */
export class ProduceFailure extends Error {
  readonly isPermanent: boolean
  readonly kafkaCode: number | undefined

  constructor(message: string, { isPermanent = false, kafkaCode }: ProduceFailureFacts = {}) {
    super(message)
    this.isPermanent = isPermanent
    this.kafkaCode = kafkaCode
  }
}

interface ProduceFailureFacts {
  readonly isPermanent?: boolean
  readonly kafkaCode?: number
}

interface Item {
  readonly record: MessageRecord
  readonly bytes: number
  readonly failsAtMs: number
  resolve(offset: bigint): void
  reject(error: ProduceFailure): void
}

interface Identity {
  readonly producerId: bigint
  readonly producerEpoch: number
  /** The next number of each partition, by `topic:partition`. */
  readonly sequences: NumericMap
}

interface BatchAnswer {
  readonly errorCode: number
  readonly baseOffset: bigint
  readonly errorMessage: string | null | undefined
}

interface Lane {
  readonly topic: string
  readonly partition: number
  readonly waiting: Array<Item>
  /** Sent, and not answered. It is sent again unchanged. */
  batch: Array<Item> | undefined
  /** A request with this batch is on its way. */
  isSending: boolean
  pauseMs: number
  notBeforeMs: number
  /** Why the last try failed. */
  reason?: string
}

export class KafkaProducer {
  readonly #cluster: KafkaCluster
  readonly #timeoutMs: number
  readonly #lanes = new Map<string, Lane>()
  readonly #busyBrokers = new Set<number>()
  #identity: Identity | undefined
  #outstanding = 0
  #outstandingBytes = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isPumping = false
  #isAskedAgain = false
  #isClosed = false

  constructor(cluster: KafkaCluster, timeoutMs: number) {
    this.#cluster = cluster
    this.#timeoutMs = timeoutMs
  }

  /** Asks for its identity in advance. So a user who may not publish is refused at the start. */
  async warmUp(): Promise<void> {
    const deadlineMs = performance.now() + this.#timeoutMs
    while (this.#identity === undefined) {
      try {
        this.#identity = await this.#newIdentity()
      } catch (error) {
        // A broker that has just started says this for a moment.
        const isStarting = kafkaCodeOf(error) === kafkaCodes.coordinatorLoading
        if (!isStarting || performance.now() > deadlineMs) throw error
        await pause(firstPauseMs)
      }
    }
  }

  /** Resolves with the offset of each record. The records of one partition are stored in the order given. */
  async send(outgoing: ReadonlyArray<KafkaOutgoing>): Promise<ReadonlyArray<bigint>> {
    if (this.#isClosed) throw new ProduceFailure("the bus is closed")
    const isFull =
      this.#outstanding + outgoing.length > outstandingMost || this.#outstandingBytes > outstandingBytesMost
    if (isFull) throw new ProduceFailure(`${this.#outstanding} messages already wait for the broker's answer`)
    const failsAtMs = performance.now() + this.#timeoutMs
    const stored = outgoing.map((one) => this.#enqueue(one, failsAtMs))
    this.#pump()
    const settled = await Promise.allSettled(stored)
    const failed = settled.find((one) => one.status === "rejected")
    if (failed !== undefined) throw failed.reason
    return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const lane of this.#lanes.values()) {
      this.#reject([...(lane.batch ?? []), ...lane.waiting], new ProduceFailure("the bus is closed"))
    }
    this.#lanes.clear()
  }

  #enqueue(outgoing: KafkaOutgoing, failsAtMs: number): Promise<bigint> {
    const { topic, partition } = outgoing
    const name = `${topic}:${partition}`
    const lane = this.#lanes.get(name) ?? newLane(topic, partition)
    this.#lanes.set(name, lane)
    const { promise, resolve, reject } = Promise.withResolvers<bigint>()
    const bytes = recordBytes(outgoing)
    lane.waiting.push({ record: recordOf(outgoing), bytes, failsAtMs, resolve, reject })
    this.#outstanding++
    this.#outstandingBytes += bytes
    return promise
  }

  #settle(items: ReadonlyArray<Item>): void {
    this.#outstanding -= items.length
    for (const { bytes } of items) this.#outstandingBytes -= bytes
  }

  #reject(items: ReadonlyArray<Item>, failure: ProduceFailure): void {
    this.#settle(items)
    for (const { reject } of items) reject(failure)
  }

  /** One run at a time. A call during a run makes another run follow. */
  #pump(): void {
    this.#isAskedAgain = true
    if (this.#isPumping) return
    this.#isPumping = true
    void (async () => {
      // The caller may still add records in this turn.
      await Promise.resolve()
      while (this.#isAskedAgain && !this.#isClosed) {
        this.#isAskedAgain = false
        await this.#sendReady()
      }
      this.#isPumping = false
      this.#scheduleNext()
    })()
  }

  async #sendReady(): Promise<void> {
    this.#dropLate()
    const nowMs = performance.now()
    const ready = [...this.#lanes.values()].filter(
      (lane) => !lane.isSending && lane.notBeforeMs <= nowMs && (lane.batch ?? lane.waiting).length > 0,
    )
    if (ready.length === 0) return
    try {
      this.#identity ??= await this.#newIdentity()
    } catch (error) {
      for (const lane of ready) this.#pause(lane, kafkaFailureText(error))
      return
    }
    const byBroker = new Map<number, Array<Lane>>()
    for (const lane of ready) {
      try {
        const leader = await this.#cluster.leaderOf(lane.topic, lane.partition)
        byBroker.set(leader, [...(byBroker.get(leader) ?? []), lane])
      } catch (error) {
        this.#pause(lane, kafkaFailureText(error))
      }
    }
    for (const [broker, lanes] of byBroker) if (!this.#busyBrokers.has(broker)) this.#request(broker, lanes)
  }

  async #newIdentity(): Promise<Identity> {
    const { errorCode, producerId, producerEpoch } = await this.#cluster.general(
      initProducerIdV3,
      null,
      0,
      -1n,
      -1,
    )
    if (errorCode !== 0) throw new KafkaRefusal(errorCode)
    return { producerId, producerEpoch, sequences: new NumericMap() }
  }

  #request(broker: number, lanes: ReadonlyArray<Lane>): void {
    const identity = this.#identity
    if (identity === undefined) return
    const sent: Array<Lane> = []
    let bytes = 0
    for (const lane of lanes) {
      if (bytes >= requestBytesMost) {
        this.#isAskedAgain = true
        break
      }
      lane.batch ??= takeBatch(lane.waiting)
      for (const item of lane.batch) bytes += item.bytes
      lane.isSending = true
      sent.push(lane)
    }
    this.#busyBrokers.add(broker)
    const records = sent.flatMap(({ batch = [] }) => batch.map(({ record }) => record))
    const place: BrokerLine = {
      nodeId: broker,
      line: "produce",
      answerWithinMs: Math.max(1_000, this.#timeoutMs),
    }
    this.#cluster.ask(place, produceV9, allBrokers, this.#timeoutMs, records, { ...identity }).then(
      (answer) => {
        if (typeof answer === "boolean") throw new Error("acks=all is always answered")
        for (const { name, partitionResponses } of answer.responses) {
          for (const { index, errorCode, baseOffset, errorMessage } of partitionResponses) {
            const lane = sent.find(({ topic, partition }) => topic === name && partition === index)
            if (lane !== undefined) this.#answered(lane, identity, { errorCode, baseOffset, errorMessage })
          }
        }
        this.#ended(broker, sent)
      },
      (error: unknown) => {
        for (const lane of sent) {
          this.#cluster.forgetLeader(lane.topic, lane.partition)
          this.#pause(lane, kafkaFailureText(error))
        }
        this.#ended(broker, sent)
      },
    )
  }

  #ended(broker: number, sent: ReadonlyArray<Lane>): void {
    this.#busyBrokers.delete(broker)
    for (const lane of sent) lane.isSending = false
    this.#pump()
  }

  #answered(lane: Lane, { sequences }: Identity, { errorCode, baseOffset, errorMessage }: BatchAnswer): void {
    const batch = lane.batch ?? []
    if (errorCode === 0 || errorCode === kafkaCodes.duplicateSequence) {
      lane.batch = undefined
      lane.pauseMs = 0
      const name = `${lane.topic}:${lane.partition}`
      sequences.set(name, (sequences.getWithDefault(name, 0) + batch.length) % sequencesBelow)
      this.#settle(batch)
      batch.forEach(({ resolve }, index) => {
        resolve(baseOffset + BigInt(index))
      })
      if (lane.waiting.length === 0) this.#lanes.delete(name)
      return
    }
    const text = new KafkaRefusal(errorCode, errorMessage).message
    if (lostIdentity.has(errorCode)) this.#identity = undefined
    if (permanentCodes.has(errorCode)) {
      lane.batch = undefined
      // The broker took none of its numbers.
      this.#reject(batch, new ProduceFailure(text, { isPermanent: true, kafkaCode: errorCode }))
      return
    }
    this.#cluster.forgetLeader(lane.topic, lane.partition)
    this.#pause(lane, text)
  }

  #pause(lane: Lane, reason: string): void {
    lane.reason = reason
    lane.pauseMs = Math.min(longestPauseMs, Math.max(firstPauseMs, 2 * lane.pauseMs))
    lane.notBeforeMs = performance.now() + lane.pauseMs
  }

  /** A batch is too old when its first record is. The others fail with it, because it is sent as a whole. */
  #dropLate(): void {
    const nowMs = performance.now()
    for (const [name, lane] of this.#lanes) {
      const { reason } = lane
      const failure = new ProduceFailure(
        `no answer within ${this.#timeoutMs} ms${reason === undefined ? "" : ` (${reason})`}`,
      )
      if (lane.batch !== undefined && !lane.isSending && isLate(lane.batch[0], nowMs)) {
        const batch = lane.batch
        lane.batch = undefined
        this.#identity = undefined
        this.#reject(batch, failure)
      }
      const inTime = lane.waiting.findIndex((item) => !isLate(item, nowMs))
      const late = lane.waiting.splice(0, inTime < 0 ? lane.waiting.length : inTime)
      if (late.length > 0) this.#reject(late, failure)
      if (lane.batch === undefined && lane.waiting.length === 0 && !lane.isSending) this.#lanes.delete(name)
    }
  }

  /** Wakes up for the next try, or for the next record that is too old. */
  #scheduleNext(): void {
    clearTimeout(this.#timer)
    if (this.#isClosed || this.#lanes.size === 0) return
    const nowMs = performance.now()
    let wakeAtMs = nowMs + longestPauseMs
    for (const lane of this.#lanes.values()) {
      if (!lane.isSending) wakeAtMs = Math.min(wakeAtMs, Math.max(lane.notBeforeMs, nowMs + 1))
    }
    this.#timer = setTimeout(() => this.#pump(), wakeAtMs - nowMs)
  }
}

const allBrokers = -1

/** The broker no longer knows the numbers of this producer. */
const lostIdentity: ReadonlySet<number> = new Set([
  kafkaCodes.outOfOrderSequence,
  kafkaCodes.unknownProducer,
  kafkaCodes.invalidProducerEpoch,
])

/** The broker refuses the records as they are. */
const permanentCodes: ReadonlySet<number> = new Set([
  2, // CORRUPT_MESSAGE
  kafkaCodes.messageTooLarge,
  17, // INVALID_TOPIC_EXCEPTION
  kafkaCodes.recordListTooLarge,
  kafkaCodes.topicForbidden,
  kafkaCodes.clusterForbidden,
  kafkaCodes.policyViolation,
  87, // INVALID_RECORD
])

const newLane = (topic: string, partition: number): Lane => ({
  topic,
  partition,
  waiting: [],
  batch: undefined,
  isSending: false,
  pauseMs: 0,
  notBeforeMs: 0,
})

const takeBatch = (waiting: Array<Item>): Array<Item> => {
  let count = 0
  let bytes = 0
  for (const item of waiting) {
    bytes += item.bytes
    if (count > 0 && (bytes > batchBytesMost || count === batchRecordsMost)) break
    count++
  }
  return waiting.splice(0, count)
}

const isLate = (item: Item | undefined, nowMs: number): boolean =>
  item !== undefined && item.failsAtMs <= nowMs

/** The size of a batch with this record alone, and a little more. */
export const recordBytes = ({ key, value, headers }: KafkaOutgoing): number => {
  let bytes = recordOverheadBytes + batchOverheadBytes + (key?.length ?? 0) + (value?.length ?? 0)
  for (const [name, text] of Object.entries(headers)) {
    bytes += 10 + Buffer.byteLength(name) + (typeof text === "string" ? Buffer.byteLength(text) : text.length)
  }
  return bytes
}

const recordOf = ({ topic, partition, key, value, headers }: KafkaOutgoing): MessageRecord => ({
  topic,
  partition,
  ...(key === undefined ? {} : { key }),
  // The client writes an absent value as null, although its type does not say so.
  value: value as Buffer,
  headers: new Map(
    Object.entries(headers).map(([name, text]) => [
      Buffer.from(name),
      typeof text === "string" ? Buffer.from(text) : text,
    ]),
  ),
})
