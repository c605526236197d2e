// The rules that decide which addresses this process may call, for those who must know before it calls: users who give
// it a URL for later, and operators who ask.
import type { Effect } from "effect"

export interface EgressGate {
  /**
   * Why the rules refuse the URL; `undefined` if they allow it, or if only a lookup can tell. The text continues a
   * sentence that begins with the name of a field.
   */
  refusalOf(url: string): string | undefined
  /** What would happen to a call of this URL now. Limits its own time. `undefined` if too many checks run. */
  check(url: string): Effect.Effect<EgressReport | undefined>
}

export interface EgressReport {
  /** Whether the rules allow the call. */
  readonly isAllowed: boolean
  /** If not, only an address can decide, and the host cannot be resolved now. */
  readonly isKnown: boolean
  /** The entry of the rules that allows it. */
  readonly entry?: string
  readonly reason: string
  /**
   * The address in the URL, or the allowed addresses of its host. Refused addresses that a lookup found are not shown:
   * callers could learn the addresses of a network that they cannot see.
   */
  readonly addresses: ReadonlyArray<JudgedAddress>
}

export interface JudgedAddress {
  readonly address: string
  /** The entry that allows the address; absent if no entry does. */
  readonly entry?: string
}
