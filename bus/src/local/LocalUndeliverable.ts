// The undeliverable messages of a local bus. They are in memory and are lost when the process ends. Their number and
// their bytes are bounded, by tenant and in total, because perhaps no operator ever looks at them. The bus drops the
// oldest, and logs that.
import { pageBytesMax } from "@punctual/api/Limits"
import { Effect, Result } from "effect"
import { BusError } from "../Bus.ts"
import { decodeUndeliverable, encodeUndeliverable, type UndeliverableFacts } from "../Undeliverable.ts"
import type { UndeliverableMessage, UndeliverablePage } from "../UndeliverableMessages.ts"

export interface LocalUndeliverableOptions {
  readonly atMost: number
  readonly atMostPerTenant: number
  readonly bytesAtMost: number
  readonly bytesAtMostPerTenant: number
}

/** A message as it was sent. */
export interface Sent {
  readonly bytes: Uint8Array
  /** The tenant that the message was sent to. */
  readonly tenant: string
  readonly topic: string
  /** Messages of one key stay in order. */
  readonly key: string
}

interface Kept {
  readonly sequence: number
  readonly message: UndeliverableMessage
  readonly sent: Sent
}

interface TenantMessages {
  readonly kept: Map<string, Kept>
  bytes: number
}

export class LocalUndeliverable {
  readonly #options: LocalUndeliverableOptions
  /** All messages by id, oldest first; and the same for each tenant. */
  readonly #all = new Map<string, Kept>()
  readonly #byTenant = new Map<string, TenantMessages>()
  #bytes = 0
  #lastSequence = 0

  constructor(options: LocalUndeliverableOptions) {
    this.#options = options
  }

  get oldestAt(): number | undefined {
    const [oldest] = this.#all.values()
    return oldest?.message.storedAt
  }

  readonly keep = Effect.fnUntraced(
    { self: this },
    function* (tenant: string, facts: UndeliverableFacts, sent: Sent, storedAt: number) {
      // The record is encoded and decoded as on a broker, so that it contains the same fields here.
      const opened = decodeUndeliverable(encodeUndeliverable(facts, sent.bytes))
      if (Result.isFailure(opened)) return yield* new BusError({ message: opened.failure })
      const sequence = ++this.#lastSequence
      const message = { id: String(sequence), tenant, storedAt, ...opened.success }
      for (const dropped of this.#add({ sequence, message, sent })) {
        yield* Effect.logWarning(
          `the undeliverable message ${dropped.id} of tenant ${dropped.tenant}, the oldest, was dropped to make room`,
        )
      }
    },
  )

  list(
    tenant: string | undefined,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): UndeliverablePage {
    const kept = tenant === undefined ? this.#all : this.#byTenant.get(tenant)?.kept
    const messages: Array<UndeliverableMessage> = []
    let bytes = 0
    for (const one of kept?.values() ?? []) {
      if (one.sequence <= after) continue
      const last = messages.at(-1)
      if (last !== undefined && (messages.length === limit || bytes >= pageBytesMax)) {
        return { messages, next: last.id }
      }
      messages.push(one.message)
      const { firstFailure, lastFailure } = one.message.record
      bytes += bytesOf(one) + firstFailure.error.length + lastFailure.error.length
    }
    return { messages }
  }

  find(tenant: string, id: string): Pick<Kept, "message" | "sent"> | undefined {
    return this.#byTenant.get(tenant)?.kept.get(id)
  }

  /** Returns whether there was such a message. */
  remove(tenant: string, id: string): boolean {
    const ofTenant = this.#byTenant.get(tenant)
    const kept = ofTenant?.kept.get(id)
    if (ofTenant === undefined || kept === undefined) return false
    ofTenant.kept.delete(id)
    ofTenant.bytes -= bytesOf(kept)
    this.#bytes -= bytesOf(kept)
    if (ofTenant.kept.size === 0) this.#byTenant.delete(tenant)
    return this.#all.delete(id)
  }

  /** Returns the messages that were dropped to make room. */
  #add(kept: Kept): ReadonlyArray<UndeliverableMessage> {
    const { id, tenant } = kept.message
    const { atMost, atMostPerTenant, bytesAtMost, bytesAtMostPerTenant } = this.#options
    const ofTenant = this.#byTenant.get(tenant) ?? { kept: new Map<string, Kept>(), bytes: 0 }
    this.#byTenant.set(tenant, ofTenant)
    ofTenant.kept.set(id, kept)
    ofTenant.bytes += bytesOf(kept)
    this.#all.set(id, kept)
    this.#bytes += bytesOf(kept)
    const dropped: Array<UndeliverableMessage> = []
    for (;;) {
      const isTenantFull = ofTenant.kept.size > atMostPerTenant || ofTenant.bytes > bytesAtMostPerTenant
      const isFull = this.#all.size > atMost || this.#bytes > bytesAtMost
      const [oldest] = isTenantFull ? ofTenant.kept.values() : isFull ? this.#all.values() : []
      if (oldest === undefined) return dropped
      this.remove(oldest.message.tenant, oldest.message.id)
      dropped.push(oldest.message)
    }
  }
}

const bytesOf = ({ sent }: Kept): number => sent.bytes.length
