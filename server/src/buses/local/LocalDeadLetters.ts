// The dead letters of a bus that lives in one process: kept in memory, and gone with it. They are bounded, by
// tenant and in all, because nobody may ever look at them: the oldest make room, and that is logged.
import { type DeadLetterFacts, decodeDeadLetter, encodeDeadLetter } from "@punctual/api/DeadLetter"
import { Effect, Result } from "effect"
import { BusError, type DeadLetterEntry } from "../../ports/Bus.ts"

export interface LocalDeadLettersOptions {
  readonly atMost: number
  readonly atMostPerTenant: number
}

/** A message as it was sent. */
export interface Sent {
  readonly bytes: Uint8Array
  /** To whom. */
  readonly tenant: string
}

interface Kept {
  readonly sequence: number
  readonly entry: DeadLetterEntry
  readonly sent: Sent
}

export class LocalDeadLetters {
  readonly #options: LocalDeadLettersOptions
  /** Oldest first, by id; and the same by tenant. */
  readonly #all = new Map<string, Kept>()
  readonly #byTenant = new Map<string, Map<string, Kept>>()
  #lastSequence = 0

  constructor(options: LocalDeadLettersOptions) {
    this.#options = options
  }

  get oldestDiedAt(): number | undefined {
    const [oldest] = this.#all.values()
    return oldest?.entry.diedAt
  }

  readonly bury = Effect.fnUntraced(
    { self: this },
    function* (tenant: string, facts: DeadLetterFacts, sent: Sent, diedAt: number) {
      // Through the same bytes as on a broker, so that what they cannot say is missing here, too.
      const opened = decodeDeadLetter(encodeDeadLetter(facts, sent.bytes))
      if (Result.isFailure(opened)) return yield* new BusError({ message: opened.failure })
      const sequence = ++this.#lastSequence
      const entry = { id: String(sequence), tenant, diedAt, ...opened.success }
      const dropped = this.#keep({ sequence, entry, sent })
      for (const { tenant, id } of dropped)
        yield* Effect.logWarning(
          `dead letter ${id} of tenant ${tenant}, the oldest, was dropped to make room`,
        )
    },
  )

  list(
    tenant: string,
    { cursor, limit }: { readonly cursor?: string; readonly limit: number },
  ): { readonly entries: ReadonlyArray<DeadLetterEntry>; readonly next?: string } {
    const after = cursor === undefined ? 0 : Number(cursor)
    const later = [...(this.#byTenant.get(tenant)?.values() ?? [])].filter(({ sequence }) => sequence > after)
    const entries = later.slice(0, limit).map(({ entry }) => entry)
    const next = later.length > limit ? entries.at(-1)?.id : undefined
    return next === undefined ? { entries } : { entries, next }
  }

  find(tenant: string, id: string): { readonly entry: DeadLetterEntry; readonly sent: Sent } | undefined {
    return this.#byTenant.get(tenant)?.get(id)
  }

  /** Whether there was such a dead letter. */
  remove(tenant: string, id: string): boolean {
    const ofTenant = this.#byTenant.get(tenant)
    if (ofTenant?.delete(id) !== true) return false
    if (ofTenant.size === 0) this.#byTenant.delete(tenant)
    return this.#all.delete(id)
  }

  /** Answers those that had to go. */
  #keep(kept: Kept): ReadonlyArray<DeadLetterEntry> {
    const { id, tenant } = kept.entry
    const ofTenant = this.#byTenant.get(tenant) ?? new Map<string, Kept>()
    this.#byTenant.set(tenant, ofTenant)
    ofTenant.set(id, kept)
    this.#all.set(id, kept)
    const [oldestOfTenant] = ofTenant.size > this.#options.atMostPerTenant ? ofTenant.values() : []
    const [oldest] = this.#all.size > this.#options.atMost ? this.#all.values() : []
    const dropped = oldestOfTenant ?? oldest
    if (dropped === undefined) return []
    this.remove(dropped.entry.tenant, dropped.entry.id)
    return [dropped.entry]
  }
}
