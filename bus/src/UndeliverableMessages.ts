// The messages that a group could not handle. Operators can look at them, replay them to the group, or remove them.
// This is a port of its own beside Bus, because only operators use it, and because not every broker can list and remove
// messages. At such a broker every call fails with an error that says what to use instead;
// `abilities.listsUndeliverable` of the bus tells this in advance.
//
// The suite of the bus tests these laws:
// - `list` returns stored messages oldest first, of one tenant or of all, each message once.
// - `replay` sends the original message to the group that could not handle it, as a new message with no deliveries, and
//   removes it here. Other groups do not handle it again.
// - A caller cannot reach a message under the name of another tenant.
import { Context, type Effect } from "effect"
import type { BusError } from "./Bus.ts"
import type { Undeliverable } from "./Undeliverable.ts"

export interface UndeliverableMessage {
  /** The bus's own id of the message, for `find`, `replay` and `discard`. */
  readonly id: string
  /** A namespace, or `_unknown`. */
  readonly tenant: string
  readonly storedAt: number
  readonly record: Undeliverable
  /** The message as it was received. */
  readonly original: Uint8Array
}

export interface UndeliverablePage {
  readonly messages: ReadonlyArray<UndeliverableMessage>
  readonly next?: string
}

/** The largest page that `list` returns. */
export const largestUndeliverablePage = 1_000

export class UndeliverableMessages extends Context.Service<
  UndeliverableMessages,
  {
    /**
     * Lists oldest first, one tenant or, without a tenant, all. A page ends when its messages have `pageBytesMax` bytes,
     * so a short page can still have a `next`.
     */
    list(
      tenant: string | undefined,
      page: { readonly cursor?: string; readonly limit: number },
    ): Effect.Effect<UndeliverablePage, BusError>
    find(tenant: string, id: string): Effect.Effect<UndeliverableMessage | undefined, BusError>
    /**
     * `duplicate`: the broker already has the message from an earlier replay. Nothing was published, and the message
     * stays here.
     */
    replay(tenant: string, id: string): Effect.Effect<"replayed" | "duplicate" | "notFound", BusError>
    discard(tenant: string, id: string): Effect.Effect<"discarded" | "notFound", BusError>
    /** When the oldest of all was stored. `undefined` if there is none, or if the broker cannot list them. */
    readonly oldestAt: Effect.Effect<number | undefined, BusError>
  }
>()("punctual/bus/UndeliverableMessages") {}
