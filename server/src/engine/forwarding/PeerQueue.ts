// The queue of writes for one peer, from which calls take batches. The code that fills the queue bounds it. The limits
// of one call bound a batch.
import type { PeerNode } from "../../ports/Peers.ts"
import type { CarriedWrite } from "./CarriedWrite.ts"

export interface BatchLimits {
  readonly batchItems: number
  readonly batchBytes: number
}

export class PeerQueue {
  readonly to: PeerNode
  /** How many loops are sending from the queue. */
  senders = 0
  #queued: Array<CarriedWrite> = []

  constructor(to: PeerNode) {
    this.to = to
  }

  get isEmpty(): boolean {
    return this.#queued.length === 0
  }

  push(carried: CarriedWrite): void {
    this.#queued.push(carried)
  }

  /** The next batch, in order. It contains at least the first item, even if that exceeds the limit. */
  take({ batchItems, batchBytes }: BatchLimits): ReadonlyArray<CarriedWrite> {
    let bytes = 0
    let count = 0
    for (const carried of this.#queued) {
      bytes += carried.bytes
      if (count === batchItems || (bytes > batchBytes && count > 0)) break
      count++
    }
    const taken = this.#queued.slice(0, count)
    this.#queued = this.#queued.slice(count)
    return taken
  }
}
