// Passes messages from the topic of retries to the intake when they are due. Each delivery is counted in the topic before
// it begins. A suspect (see `isSuspect`) is delivered while no other suspect is.
import type { KafkaCluster } from "./KafkaCluster.ts"
import { kafkaFailureText } from "./KafkaFailure.ts"
import { spanMost } from "./OffsetTracker.ts"
import type { PartitionSlot } from "./PartitionSlot.ts"
import { type KafkaRecordIn, readPartition } from "./partitionReads.ts"
import type { RetryEntry } from "./RetryQueue.ts"
import { pause } from "./within.ts"

export interface RetryFeedOptions {
  /** The topic of retries. */
  readonly topic: string
  /** The line on which the broker is asked. */
  readonly line: string
  nowMs(): number
  /** How many more messages the intake can take, without those that are on their way. */
  room(): number
  take(record: KafkaRecordIn, slot: PartitionSlot, entry: RetryEntry): void
  log(message: string): void
}

const pauseMs = 500

export class RetryFeed {
  readonly #cluster: KafkaCluster
  readonly #slots: ReadonlyMap<number, PartitionSlot>
  readonly #options: RetryFeedOptions

  constructor(cluster: KafkaCluster, slots: ReadonlyMap<number, PartitionSlot>, options: RetryFeedOptions) {
    this.#cluster = cluster
    this.#slots = slots
    this.#options = options
  }

  /** Copies that are on their way to the intake. */
  get preparing(): number {
    let count = 0
    for (const slot of this.#slots.values()) count += slot.preparing
    return count
  }

  /** When the next message may be delivered. `undefined` if none waits. */
  get nextDueAtMs(): number | undefined {
    const mayBeSuspect = !this.#hasSuspectOut
    let next: number | undefined
    for (const { queue } of this.#slots.values()) {
      const dueAtMs = queue.nextDueAtMs(mayBeSuspect)
      if (dueAtMs !== undefined) next = Math.min(next ?? dueAtMs, dueAtMs)
    }
    return next
  }

  /** Begins to deliver what is due, as far as there is room. */
  feed(): void {
    const nowMs = this.#options.nowMs()
    for (const slot of this.#slots.values()) {
      if (!slot.isActive) continue
      const entries: Array<RetryEntry> = []
      for (let room = this.#options.room(); room > 0; room--) {
        const entry = slot.queue.takeDue(nowMs, !this.#hasSuspectOut)
        if (entry === undefined) break
        entries.push(entry)
      }
      if (entries.length > 0) void this.#deliver(slot, entries)
      this.#moveFloor(slot)
    }
  }

  get #hasSuspectOut(): boolean {
    for (const slot of this.#slots.values()) if (slot.hasSuspectOut) return true
    return false
  }

  async #deliver(slot: PartitionSlot, entries: ReadonlyArray<RetryEntry>): Promise<void> {
    slot.preparing += entries.length
    const used = await this.#read(slot, entries, (record, entry) => {
      slot.deliver(record, entry, (counted) => {
        slot.preparing--
        if (slot.isActive) this.#options.take(record, slot, counted)
        else slot.comeBack(record, counted, undefined)
      })
    })
    slot.preparing -= entries.length - used
  }

  /** Messages wait in the topic of retries for a bounded number of offsets. Then they are written again. */
  #moveFloor(slot: PartitionSlot): void {
    if (slot.retries.span < spanMost / 2) return
    const entry = slot.queue.takeAt(slot.retries.floor)
    if (entry === undefined) return
    void this.#read(slot, [entry], (record) => slot.writeAgain(record, entry))
  }

  /**
   * Reads copies, as far as one answer of the broker has them. The others wait again. Returns how many are used. Never
   * fails.
   */
  async #read(
    slot: PartitionSlot,
    entries: ReadonlyArray<RetryEntry>,
    use: (record: KafkaRecordIn, entry: RetryEntry) => void,
  ): Promise<number> {
    const { topic, line, log } = this.#options
    const from = Math.min(...entries.map(({ offset }) => offset))
    let used = 0
    try {
      const position = { topic, partition: slot.partition, from }
      const { records, next } = await readPartition(this.#cluster, position, { line, waitMs: 0 })
      const found = new Map(records.map((record) => [record.offset, record]))
      for (const entry of entries) {
        const record = found.get(entry.offset)
        if (slot.isActive && record !== undefined) {
          used++
          use(record, entry)
        } else if (slot.isActive && next > entry.offset) {
          log(`the message at offset ${entry.offset} of ${topic} was removed before it was handled`)
          slot.drop(entry)
        } else slot.queue.putBack(entry)
      }
    } catch (error) {
      if (this.#cluster.isConnected)
        log(`messages in ${topic} cannot be read yet: ${kafkaFailureText(error)}`)
      // They must not be taken out again before that.
      await pause(pauseMs)
      for (const entry of entries) slot.queue.putBack(entry)
    }
    return used
  }
}
