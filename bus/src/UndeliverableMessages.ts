// The messages that a group could not handle, kept for people: to look at, to hand to the group again, or to remove. A
// port beside Bus, because only operators use it, and because not every broker can list and remove messages: there every
// call fails with a sentence that says what to use instead (`abilities.listsUndeliverable` of the bus says so beforehand).
//
// Laws, tested by the suite of the bus:
// - What was stored is listed oldest first, of one tenant or of all, each message once.
// - `replay` hands the message, as it first came, to the group that could not handle it, as a new message that was never
//   delivered, and removes it here. Other groups do not handle it again.
// - Nobody reaches a message by another tenant's name.
import { Context, type Effect } from "effect"
import type { BusError } from "./Bus.ts"
import type { Undeliverable } from "./Undeliverable.ts"

export interface UndeliverableMessage {
  /** Names it for `find`, `replay` and `discard`; the bus's own. */
  readonly id: string
  /** A namespace, or `_unknown`. */
  readonly tenant: string
  readonly storedAt: number
  readonly record: Undeliverable
  /** The message as it came. */
  readonly original: Uint8Array
}

export interface UndeliverablePage {
  readonly messages: ReadonlyArray<UndeliverableMessage>
  readonly next?: string
}

/** No page is longer. */
export const largestUndeliverablePage = 1_000

export class UndeliverableMessages extends Context.Service<
  UndeliverableMessages,
  {
    /** Oldest first, of the tenant, or of all without one. A page may be shorter than the limit and still have a `next`. */
    list(
      tenant: string | undefined,
      page: { readonly cursor?: string; readonly limit: number },
    ): Effect.Effect<UndeliverablePage, BusError>
    find(tenant: string, id: string): Effect.Effect<UndeliverableMessage | undefined, BusError>
    /** `duplicate`: the broker had it from an earlier replay; nothing was published, and it stays here. */
    replay(tenant: string, id: string): Effect.Effect<"replayed" | "duplicate" | "notFound", BusError>
    discard(tenant: string, id: string): Effect.Effect<"discarded" | "notFound", BusError>
    /** When the oldest of all tenants was stored; nothing without any, or where they cannot be listed. */
    readonly oldestAt: Effect.Effect<number | undefined, BusError>
  }
>()("punctual/bus/UndeliverableMessages") {}
