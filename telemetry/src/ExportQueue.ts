// Encoded records that wait for their export. The queue is limited in count and in bytes. If it is full, new records are
// dropped: a collector that does not answer must not cost memory.
import { Latch } from "effect"

export interface ExportQueueLimits {
  readonly records: number
  readonly bytes: number
  /** A batch has at most this many records, and bytes. */
  readonly batchRecords: number
  readonly batchBytes: number
}

export class ExportQueue {
  readonly #limits: ExportQueueLimits
  #records: Array<Uint8Array> = []
  #bytes = 0
  #isWaking = false
  /** Open while there are records. */
  readonly filled = Latch.makeUnsafe(false)
  /** Open while there are enough records for a batch. */
  readonly full = Latch.makeUnsafe(false)

  constructor(limits: ExportQueueLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#records.length
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether the next record will probably be taken. Asked before a record is encoded. */
  get hasRoom(): boolean {
    return this.#records.length < this.#limits.records && this.#bytes < this.#limits.bytes
  }

  /** False if the queue is full. */
  add(record: Uint8Array): boolean {
    const { records, bytes } = this.#limits
    if (this.#records.length >= records || this.#bytes + record.length > bytes) return false
    this.#records.push(record)
    this.#bytes += record.length
    this.#wake()
    return true
  }

  /** A latch continues who waits for it at once, and that must not happen inside the call that adds a record. */
  #wake(): void {
    if (this.#isWaking || (this.filled.isOpen() && (this.full.isOpen() || !this.#isFull))) return
    this.#isWaking = true
    queueMicrotask(() => {
      this.#isWaking = false
      if (this.#records.length > 0) this.filled.openUnsafe()
      if (this.#isFull) this.full.openUnsafe()
    })
  }

  /** The oldest records, as many as fit into a batch, and at least one if there is one. */
  take(): ReadonlyArray<Uint8Array> {
    const { batchRecords, batchBytes } = this.#limits
    let count = 0
    let bytes = 0
    for (const record of this.#records) {
      if (count === batchRecords || (count > 0 && bytes + record.length > batchBytes)) break
      count++
      bytes += record.length
    }
    const taken = this.#records.slice(0, count)
    this.#records = this.#records.slice(count)
    this.#bytes -= bytes
    if (this.#records.length === 0) this.filled.closeUnsafe()
    if (!this.#isFull) this.full.closeUnsafe()
    return taken
  }

  /** Drops everything, and returns how many records there were. */
  clear(): number {
    const count = this.#records.length
    this.#records = []
    this.#bytes = 0
    this.filled.closeUnsafe()
    this.full.closeUnsafe()
    return count
  }

  get #isFull(): boolean {
    const { batchRecords, batchBytes } = this.#limits
    return this.#records.length >= batchRecords || this.#bytes >= batchBytes
  }
}
