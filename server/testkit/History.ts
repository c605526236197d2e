// What happened in a run, as seen from outside the service: what clients asked and what the service answered, what
// targets received and replied, which processes started and ended, and what the store held at the end. Simulations,
// process tests and cluster tests all record this, so that one checker judges them all.
//
// The order of events is the order in which the recorder saw them. A request without an answer (a time-out, a broken
// connection, a kill) is unknown. It may have happened, or may still happen. It has not failed.
import type { Tally } from "../src/domain/Decision.ts"

export interface Key {
  readonly namespace: string
  readonly timerId: string
}

export type Ask =
  | { readonly op: "create"; readonly key: Key; readonly executeAtMs: number; readonly payload?: Uint8Array }
  | {
      readonly op: "update"
      readonly key: Key
      /** If absent, the timer keeps its own. */
      readonly executeAtMs?: number
      /** If absent, the timer keeps its own. `null` clears it. */
      readonly payload?: Uint8Array | null
    }
  | { readonly op: "cancel"; readonly key: Key }
  /** Concerns the dead letters of the key. */
  | { readonly op: "replay" | "discard"; readonly key: Key }

export type Answer =
  /** The request armed the key. `created` found a free key; the others replaced the pending timer. */
  | {
      readonly result: "created" | "replaced" | "changed"
      readonly fireId: string
      readonly revision: number
    }
  | { readonly result: "cancelled" | "inFlight" }
  /** The service armed dead letters again, or removed them. The answer does not say which ones. */
  | { readonly result: "replayed" | "discarded" }
  /** The request did nothing, and the answer said so: `unchanged`, `alreadyDelivered`, a 4xx. */
  | {
      readonly result: "nothingDone"
      readonly because: string
      /**
       * For a create that got `alreadyFinished`: the arming that the service found. The create itself may have made
       * that arming. If the service repeats a write internally, the timer may have been delivered in the meantime.
       */
      readonly finishedAs?: string
    }

export interface Attempt {
  readonly key: Key
  readonly fireId: string
  readonly attempt: number
  readonly epoch: number
  readonly revision: number
  readonly executeAtMs: number
  /** When the attempt started, by the clock of the node that made it. */
  readonly firedAtMs: number
  /** The same instant by the recorder's clock. */
  readonly beganAtMs: number
  readonly payload?: Uint8Array
}

export type Reply =
  | { readonly result: "delivered" | "dead" }
  /** Delivered, and armed again. Without a payload here, the timer keeps its own. */
  | { readonly result: "rearmed"; readonly payload?: Uint8Array }
  /** The node tries again. By the retry policy, not before this instant of the node's clock. */
  | { readonly result: "retry"; readonly notBeforeMs?: number }

export type HistoryEvent =
  | { readonly kind: "asked"; readonly ask: number; readonly atMs: number; readonly request: Ask }
  | { readonly kind: "answered"; readonly ask: number; readonly atMs: number; readonly answer: Answer }
  | { readonly kind: "attempted"; readonly delivery: number; readonly attempt: Attempt }
  | { readonly kind: "replied"; readonly delivery: number; readonly reply: Reply }
  | { readonly kind: "started" | "killed" | "stopped"; readonly node: string }
  /** A shard moved to another node, although no node was killed or stopped. */
  | { readonly kind: "ownershipMoved"; readonly node: string }

export interface StoredPending {
  readonly key: Key
  readonly fireId: string
  readonly revision: number
  readonly fireAtMs: number
  readonly payload?: Uint8Array
}

export interface StoredLife {
  readonly key: Key
  readonly fireId: string
  readonly revision: number
  readonly state: "delivered" | "cancelled" | "dead"
}

/** The tables of the store after the run, with nothing pruned. */
export interface StoreContents {
  readonly pending: ReadonlyArray<StoredPending>
  /** History and dead letters. */
  readonly finished: ReadonlyArray<StoredLife>
  readonly tally: Tally
}

export interface History {
  readonly events: ReadonlyArray<HistoryEvent>
  readonly final: StoreContents
  /** A timer that was due by this time must not be pending any more. */
  readonly dueUntilMs: number
  /** How many shards the store has. Present if the checker can compare epochs, which needs one clock for all nodes. */
  readonly shards?: number
}

/** Gives numbers to requests and deliveries, and keeps events in the order in which it gets them. */
export class HistoryRecorder {
  readonly events: Array<HistoryEvent> = []
  readonly #nowMs: () => number
  #asks = 0
  #deliveries = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Call this before the request is sent. */
  asked(request: Ask): number {
    const ask = this.#asks++
    this.events.push({ kind: "asked", ask, atMs: this.#nowMs(), request })
    return ask
  }

  answered(ask: number, answer: Answer): void {
    this.events.push({ kind: "answered", ask, atMs: this.#nowMs(), answer })
  }

  attempted(attempt: Attempt): number {
    const delivery = this.#deliveries++
    this.events.push({ kind: "attempted", delivery, attempt })
    return delivery
  }

  /** Call this before the reply is sent. Do not call it if no node waits for the reply any more. */
  replied(delivery: number, reply: Reply): void {
    this.events.push({ kind: "replied", delivery, reply })
  }

  node(kind: "started" | "killed" | "stopped" | "ownershipMoved", node: string): void {
    this.events.push({ kind, node })
  }
}
