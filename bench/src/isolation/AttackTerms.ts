// What an attacker's process shall do. The bench hands this to the process as JSON.
import type { BodyKind } from "./bodies.ts"

export type AttackTerms = { readonly url: string } & (
  | {
      readonly kind: "bodies"
      readonly body: BodyKind
      readonly bytes: number
      readonly clients: number
    }
  /** One namespace with timers for names that resolve late. */
  | { readonly kind: "slowNames"; readonly names: number }
  /** One timer for a hanging endpoint in each namespace. Each namespace has an endpoint of its own. */
  | { readonly kind: "hangingEndpoints"; readonly namespaces: number; readonly newPerSecond: number }
  /** One namespace with many overdue timers for one hanging endpoint. They exist before the attack begins. */
  | { readonly kind: "backlog"; readonly timers: number }
  | { readonly kind: "unfinishedBodies"; readonly connections: number }
  | { readonly kind: "slowHeaders"; readonly connections: number }
  | { readonly kind: "pipelining"; readonly connections: number; readonly requests: number }
  | { readonly kind: "neverReading"; readonly connections: number; readonly requests: number }
)

/** What the attackers got, and how often: a status, or another event such as `closed`. */
export type Counts = Readonly<Record<string, number>>
