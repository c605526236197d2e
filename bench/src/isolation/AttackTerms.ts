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
  | {
      readonly kind: "hangingEndpoints"
      readonly namespaces: number
      readonly newPerSecond: number
      readonly timeout: string
    }
  /** One namespace with many overdue timers for one hanging endpoint. They exist before the attack begins. */
  | { readonly kind: "backlog"; readonly timers: number }
  /** New namespaces with one timer each, all due at the same instant, for an endpoint that refuses connections. */
  | { readonly kind: "crowd"; readonly namespaces: number; readonly dueInMs: number }
  | { readonly kind: "unfinishedBodies"; readonly connections: number }
  /** Large bodies that stop before their end. Together they have more bytes than the service holds for bodies. */
  | { readonly kind: "heldBodies"; readonly connections: number; readonly bytes: number }
  /** Lists of timers with as many headers as allowed. The timers exist before the attack begins. */
  | { readonly kind: "largePages"; readonly connections: number; readonly timers: number }
  | { readonly kind: "slowHeaders"; readonly connections: number }
  | { readonly kind: "pipelining"; readonly connections: number; readonly requests: number }
  | { readonly kind: "neverReading"; readonly connections: number; readonly requests: number }
  /** One namespace with timers that each fire once a second, with a large payload, and get a new one in the answer. */
  | { readonly kind: "rearms"; readonly timers: number; readonly payloadBytes: number }
  /** Processor time that never reaches the service: what the attackers' own work costs the others on this machine. */
  | { readonly kind: "compute" }
)
