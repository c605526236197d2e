// Which undeliverable messages a topic has. Kafka cannot remove a single record. So a message is removed by a second
// record with the same key and no value, and by the broker's compaction, which drops both later. The index knows what is
// left. It reads every record once, and keeps only keys, offsets and times.
import type { KafkaCluster } from "./KafkaCluster.ts"
import { kafkaCodeOf, kafkaCodes } from "./KafkaFailure.ts"
import { earliest, type KafkaRecordIn, offsetAt, readPartition } from "./partitionReads.ts"

export interface IndexedMessage {
  readonly key: string
  readonly offset: number
  readonly storedAtMs: number
}

/** The messages of a topic beyond this number are indexed when older ones are removed. */
const indexedMost = 100_000
const partition = 0
const line = "undeliverable"

export class UndeliverableIndex {
  readonly topic: string
  readonly #cluster: KafkaCluster
  readonly #byKey = new Map<string, IndexedMessage>()
  readonly #byOffset = new Map<number, IndexedMessage>()
  #next = 0
  /** The first record that did not fit. */
  #leftOutFrom: number | undefined

  constructor(cluster: KafkaCluster, topic: string) {
    this.#cluster = cluster
    this.topic = topic
  }

  /** Oldest first. */
  get messages(): Iterable<IndexedMessage> {
    return this.#byOffset.values()
  }

  get oldest(): IndexedMessage | undefined {
    const [first] = this.#byOffset.values()
    return first
  }

  /** The offset of the next record that the index has not seen. */
  get next(): number {
    return this.#next
  }

  at(offset: number): IndexedMessage | undefined {
    return this.#byOffset.get(offset)
  }

  /** Reads what is new, up to the given end. */
  async readTo(end: number): Promise<void> {
    if (this.#leftOutFrom !== undefined && this.#byKey.size < indexedMost / 2) {
      this.#next = this.#leftOutFrom
      this.#leftOutFrom = undefined
    }
    // A topic that was removed and made again begins at 0.
    if (end < this.#next) this.#forgetAll()
    while (this.#next < end) {
      const { records, next } = await this.#read(this.#next)
      for (const record of records) this.#note(record)
      if (next === this.#next) return
      this.#next = next
    }
  }

  /** Records from this offset on. */
  async recordsFrom(offset: number): Promise<ReadonlyArray<KafkaRecordIn>> {
    const { records } = await this.#read(offset)
    return records
  }

  forget({ key, offset }: IndexedMessage): void {
    if (this.#byKey.get(key)?.offset === offset) this.#byKey.delete(key)
    this.#byOffset.delete(offset)
  }

  #forgetAll(): void {
    this.#byKey.clear()
    this.#byOffset.clear()
    this.#next = 0
    this.#leftOutFrom = undefined
  }

  #note({ key, value, offset, timestampMs }: KafkaRecordIn): void {
    const text = key?.toString() ?? ""
    const known = this.#byKey.get(text)
    if (known !== undefined) this.forget(known)
    if (value === null) return
    if (this.#byKey.size >= indexedMost) {
      this.#leftOutFrom ??= offset
      return
    }
    const message = { key: text, offset, storedAtMs: timestampMs }
    this.#byKey.set(text, message)
    this.#byOffset.set(offset, message)
  }

  /** The first records of a topic may be gone. */
  async #read(from: number) {
    const place = { topic: this.topic, partition }
    try {
      return await readPartition(this.#cluster, { ...place, from }, { line, waitMs: 0 })
    } catch (error) {
      if (kafkaCodeOf(error) !== kafkaCodes.offsetOutOfRange) throw error
      const first = await offsetAt(this.#cluster, place, earliest)
      return readPartition(this.#cluster, { ...place, from: first }, { line, waitMs: 0 })
    }
  }
}
