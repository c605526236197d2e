// Asks another node how many pending timers it counts in its shards, by time. The call is bounded in time and in size,
// and the other node answers from memory.
import { Context, type Effect } from "effect"
import type { Buckets } from "../domain/bucketOf.ts"
import type { PeerError, PeerNode } from "./Peers.ts"

export interface CensusQuestion extends Buckets {
  /** Only these namespaces. Absent: all except reserved ones. */
  readonly names?: ReadonlyArray<string>
}

export interface CensusAnswer {
  readonly counts: ReadonlyArray<number>
  /** When the counting began. Changes since then are included. */
  readonly asOfMs: number
  /** Some timers are missing from the counts. */
  readonly lacksSome: boolean
  /** Present while the first pass runs: only timers before this instant are counted. */
  readonly countedUntilMs?: number
}

export class CensusCounts extends Context.Service<
  CensusCounts,
  {
    /** `undefined` if the node counts nothing: it has just started, or its census is off. */
    of(to: PeerNode, question: CensusQuestion): Effect.Effect<CensusAnswer | undefined, PeerError>
  }
>()("punctual/ports/CensusCounts") {}
