// One delivery of a record, from the topic or from the topic of retries. The answers only change what this member knows
// about the partition. A commit tells the broker later, together with others. If the member ends before that, the message
// is delivered again.
import type { Effect } from "effect"
import type { BusError } from "../Bus.ts"
import type { Incoming } from "../Incoming.ts"
import type { UndeliverableFacts } from "../Undeliverable.ts"
import type { AsideRecord } from "./KafkaUndeliverable.ts"
import type { PartitionSlot } from "./PartitionSlot.ts"
import { originOf } from "./PartitionSlot.ts"
import { headerOf, type KafkaRecordIn } from "./partitionReads.ts"
import type { RetryEntry } from "./RetryQueue.ts"

/** The only group that handles the message. */
export const onlyGroupHeader = "punctual-only-group"

/** What a delivery needs from its subscription. */
export interface DeliveryContext {
  nowMs(): number
  setAside(aside: Omit<AsideRecord, "topic">): Effect.Effect<void, BusError>
}

export class KafkaIncoming implements Incoming {
  readonly bytes: Uint8Array
  readonly delivery: number
  readonly addressedTenant: string | undefined
  readonly messageKey: string
  readonly onlyGroup: string | undefined
  readonly slot: PartitionSlot
  readonly #record: KafkaRecordIn
  readonly #entry: RetryEntry | undefined
  readonly #context: DeliveryContext

  /** `entry` is present if the record is from the topic of retries. It counts this delivery already. */
  constructor(
    record: KafkaRecordIn,
    slot: PartitionSlot,
    entry: RetryEntry | undefined,
    context: DeliveryContext,
  ) {
    const copied = copyOf(record)
    this.bytes = copied.value
    this.delivery = entry?.deliveries ?? 1
    this.addressedTenant = headerOf(record, "tenantId")
    this.messageKey = `${slot.partition}-${entry?.origin ?? originOf(record)}`
    this.onlyGroup = headerOf(record, onlyGroupHeader)
    this.slot = slot
    this.#record = copied
    this.#entry = entry
    this.#context = context
  }

  acknowledge(): void {
    this.slot.done(this.#record, this.#entry)
  }

  redeliverIn(delayMs: number): void {
    const dueAtMs = delayMs > 0 ? Math.ceil(this.#context.nowMs() + delayMs) : undefined
    this.slot.comeBack(this.#record, this.#entry, dueAtMs)
  }

  /** The broker waits for the member, not for the message. */
  keepWaiting(): void {}

  setAside(tenant: string, facts: UndeliverableFacts): Effect.Effect<void, BusError> {
    return this.#context.setAside({ record: this.#record, partition: this.slot.partition, tenant, facts })
  }
}

/** The record is a part of a larger piece of memory, which must not be kept with it. */
const copyOf = (record: KafkaRecordIn): KafkaRecordIn & { readonly value: Buffer } => ({
  ...record,
  value: Buffer.from(record.value ?? []),
  key: record.key === null ? null : Buffer.from(record.key),
  headers: record.headers.map(([name, value]) => [Buffer.from(name ?? []), Buffer.from(value ?? [])]),
})
