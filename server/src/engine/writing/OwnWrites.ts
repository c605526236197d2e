// Callers' writes of the shards that this node owns: the one way into the write queue for what was asked here
// and for what another node carried here. The owner alone knows which attempts run, so it is here that an item
// learns of them.
import type { Timer, TimerKey } from "../../domain/Timer.ts"
import { shardOf } from "../../domain/TimerKey.ts"
import { type Discard, keyOfItem, type Replay } from "../../domain/WriteItem.ts"
import type { CarriedAnswer, CarriedItem } from "../../ports/Peers.ts"
import type { Ownership } from "../ownership/Ownership.ts"
import type { ShardLoop } from "../window/ShardLoop.ts"
import type { WriteQueue } from "./WriteQueue.ts"

export interface OwnWritesParts {
  readonly ownership: Pick<Ownership, "shards" | "loopOf">
  readonly queue: WriteQueue
}

/** Writes of one key go one a commit: more of them at once would only wait. */
export const queuedPerKey = 100
/** How long a caller that is refused for now should wait. */
export const retryAfterMs = 1_000

export class OwnWrites {
  readonly #parts: OwnWritesParts

  constructor(parts: OwnWritesParts) {
    this.#parts = parts
  }

  /** Unknown until the store has told how many shards it has. */
  shardOf({ uuid }: Pick<TimerKey, "uuid">): number | undefined {
    const { shards } = this.#parts.ownership
    return shards === undefined ? undefined : shardOf(uuid, shards)
  }

  loopOf(key: Pick<TimerKey, "uuid">): ShardLoop | undefined {
    const shard = this.shardOf(key)
    return shard === undefined ? undefined : this.#parts.ownership.loopOf(shard)
  }

  /** Whether it takes writes of the shard: one that is being handed over is on its way to another. */
  owns(shard: number): boolean {
    return this.#parts.ownership.loopOf(shard) !== undefined
  }

  /** When the attempt of this arming that runs here started. */
  inFlightSince(timer: Timer): number | undefined {
    const entry = this.loopOf(timer)?.window.entryOf(timer.uuid)
    return entry?.state === "inFlight" && entry.fireId === timer.fireId ? entry.startedAt : undefined
  }

  /** Queues the item, or says why not. Answers once, perhaps before this returns. */
  put(item: CarriedItem, onAnswer: (answer: CarriedAnswer) => void): void {
    const { queue } = this.#parts
    const key = keyOfItem(item)
    const loop = this.loopOf(key)
    if (loop === undefined) {
      onAnswer(notOwner)
      return
    }
    if (queue.isFull || loop.window.writesQueuedOf(key.uuid) >= queuedPerKey) {
      onAnswer({ kind: "overloaded", retryAfterMs })
      return
    }
    const entry = loop.window.entryOf(key.uuid)
    const told = tellInFlight(item, entry?.state === "inFlight" ? entry.timer.fireId : undefined)
    loop.window.expectAnswer(told, key.uuid, mayMove(told, entry?.timer))
    const isQueued = queue.push(loop, {
      item: told,
      onAnswer: (answer) => {
        if (answer === "notWritten") onAnswer(notOwner)
        else onAnswer(answer === "unknown" ? unknown : { kind: "answered", answer })
      },
    })
    if (!isQueued) onAnswer(notOwner)
  }
}

const notOwner: CarriedAnswer = { kind: "notOwner" }
const unknown: CarriedAnswer = { kind: "unknown" }

/** A create starts the next life, even while an attempt runs. A dead timer has no attempt that runs. */
const tellInFlight = (item: CarriedItem, inFlight: string | undefined): CarriedItem => {
  if (inFlight === undefined) return item
  return item.kind === "put" || isOfDead(item) ? item : { ...item, inFlight }
}

/** Of a key that is pending these change nothing. */
const isOfDead = (item: CarriedItem): item is Replay | Discard =>
  item.kind === "replay" || item.kind === "discard"

/**
 * Whether a due timer must wait for the write's answer. A create again of what is there changes nothing. A
 * schedule always may: one queued before it may have moved what is known here, and what has begun to fire by
 * the time it is decided must not be moved.
 */
const mayMove = (item: CarriedItem, known: Timer | undefined): boolean =>
  item.kind !== "put"
    ? !isOfDead(item)
    : item.onExisting === "replace" && item.timer.executeAt !== known?.executeAt
