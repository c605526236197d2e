// What happened in a run, as those outside the service saw it: what clients asked and were told, what
// targets received and replied, which processes came and went, and what the store held at the end.
// Simulations, process tests and cluster tests all record this, so that one checker judges them all.
//
// The order of events is the order in which the recorder saw them. An ask that was never answered (a
// time-out, a broken connection, a kill) is unknown: it may have happened, now or later. It has not failed.
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
      /** Absent keeps. */
      readonly executeAtMs?: number
      /** Absent keeps, `null` clears. */
      readonly payload?: Uint8Array | null
    }
  | { readonly op: "cancel"; readonly key: Key }
  /** Of the dead letters of the key. */
  | { readonly op: "replay" | "discard"; readonly key: Key }

export type Answer =
  /** It armed the key anew: the first under a free key, the others in place of what was pending. */
  | {
      readonly result: "created" | "replaced" | "changed"
      readonly fireId: string
      readonly revision: number
    }
  | { readonly result: "cancelled" | "inFlight" }
  /** Dead letters were armed again, or removed; which, and as what, is not said. */
  | { readonly result: "replayed" | "discarded" }
  /** It did nothing, and said so: `unchanged`, `alreadyDelivered`, a 4xx. */
  | {
      readonly result: "nothingDone"
      readonly because: string
      /**
       * Of a create that is told `alreadyFinished`: the arming that was found. It may be its own: a service that had
       * to repeat the write inside may find that what it wrote has been delivered since.
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
  /** When it started, by the clock of the node that made it. */
  readonly firedAtMs: number
  /** The same instant by the recorder's clock. */
  readonly beganAtMs: number
  readonly payload?: Uint8Array
}

export type Reply =
  | { readonly result: "delivered" | "dead" }
  /** Delivered, and armed again; without a payload it keeps its own. */
  | { readonly result: "rearmed"; readonly payload?: Uint8Array }
  /** To be tried again, by its policy not before this instant of the node's clock. */
  | { readonly result: "retry"; readonly notBeforeMs?: number }

export type HistoryEvent =
  | { readonly kind: "asked"; readonly ask: number; readonly atMs: number; readonly request: Ask }
  | { readonly kind: "answered"; readonly ask: number; readonly atMs: number; readonly answer: Answer }
  | { readonly kind: "attempted"; readonly delivery: number; readonly attempt: Attempt }
  | { readonly kind: "replied"; readonly delivery: number; readonly reply: Reply }
  | { readonly kind: "started" | "killed" | "stopped"; readonly node: string }
  /** A shard went to another node although none was killed or stopped. */
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
  /** What was due by then had its chance: it must not be pending any more. */
  readonly dueUntilMs: number
  /** How many shards the store has, where epochs are to be compared: then all nodes must have had one clock. */
  readonly shards?: number
}

/** Numbers asks and deliveries, and keeps events in the order in which they are told to it. */
export class HistoryRecorder {
  readonly events: Array<HistoryEvent> = []
  readonly #nowMs: () => number
  #asks = 0
  #deliveries = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** To be called before the request leaves. */
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

  /** To be called before the reply leaves, and not at all if nobody waits for it any more. */
  replied(delivery: number, reply: Reply): void {
    this.events.push({ kind: "replied", delivery, reply })
  }

  node(kind: "started" | "killed" | "stopped" | "ownershipMoved", node: string): void {
    this.events.push({ kind, node })
  }
}
