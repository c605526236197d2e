// Writes of callers to the shards that this node owns. All of them enter the write queue here, whether the call came to
// this node or another node forwarded it. Only the owner knows which attempts are running, so the item gets that
// information here.
import type { Timer, TimerKey } from "../../domain/Timer.ts"
import { shardOf } from "../../domain/TimerKey.ts"
import { type Discard, keyOfItem, type Replay, type WriteAnswer } from "../../domain/WriteItem.ts"
import type { CarriedAnswer, CarriedItem } from "../../ports/Peers.ts"
import type { Ownership } from "../ownership/Ownership.ts"
import type { ShardLoop } from "../window/ShardLoop.ts"
import type { Unanswered } from "./LaneQueue.ts"
import type { WriteQueue } from "./WriteQueue.ts"

export interface OwnWritesParts {
  readonly ownership: Pick<Ownership, "shards" | "loopOf">
  readonly queue: WriteQueue
}

/** The store's answer, or why there is none. `overloaded`: nothing was written, and the caller may try again later. */
export type OwnAnswer = WriteAnswer | Unanswered | "overloaded"

/** A commit takes one write of a key, so more of them would only wait. */
export const queuedPerKey = 100
/** How long a refused caller should wait. */
export const retryAfterMs = 1_000

export class OwnWrites {
  readonly #parts: OwnWritesParts

  constructor(parts: OwnWritesParts) {
    this.#parts = parts
  }

  /** `undefined` until the store has reported its number of shards. */
  shardOf({ uuid }: Pick<TimerKey, "uuid">): number | undefined {
    const { shards } = this.#parts.ownership
    return shards === undefined ? undefined : shardOf(uuid, shards)
  }

  loopOf(key: Pick<TimerKey, "uuid">): ShardLoop | undefined {
    const shard = this.shardOf(key)
    return shard === undefined ? undefined : this.#parts.ownership.loopOf(shard)
  }

  /** Whether this node accepts writes for the shard. It does not while the shard is being handed over. */
  owns(shard: number): boolean {
    return this.#parts.ownership.loopOf(shard) !== undefined
  }

  /** When the attempt of this arming started. `undefined` if none is running here. */
  inFlightSince(timer: Timer): number | undefined {
    const entry = this.loopOf(timer)?.window.entryOf(timer.uuid)
    return entry?.state === "inFlight" && entry.fireId === timer.fireId ? entry.startedAt : undefined
  }

  /** The same as `begin`, with the answer in the form that nodes send each other. */
  put(item: CarriedItem, onAnswer: (answer: CarriedAnswer) => void): void {
    this.begin(item, (answer) => onAnswer(carriedAnswer(answer)))
  }

  /**
   * Queues the item, or says why not. Answers exactly once, perhaps before this returns. The queue gets `onAnswer`
   * itself: another function and another object for each write are a measurable part of a create.
   */
  begin(item: CarriedItem, onAnswer: (answer: OwnAnswer) => void): void {
    const { queue } = this.#parts
    const key = keyOfItem(item)
    const loop = this.loopOf(key)
    if (loop === undefined) {
      onAnswer("notWritten")
      return
    }
    const queuedOfKey = loop.window.writesQueuedOf(key.uuid)
    if (queue.isFull || queuedOfKey >= queuedPerKey) {
      onAnswer("overloaded")
      return
    }
    const entry = loop.window.entryOf(key.uuid)
    const told = tellInFlight(item, entry?.state === "inFlight" ? entry.timer.fireId : undefined)
    loop.window.expectAnswer(told, key.uuid, mayMove(told, entry?.timer))
    const isQueued = queue.push(loop, { item: told, isOnlyOfKey: queuedOfKey === 0, onAnswer })
    if (!isQueued) onAnswer("notWritten")
  }
}

const carriedAnswer = (answer: OwnAnswer): CarriedAnswer => {
  if (answer === "notWritten") return { kind: "notOwner" }
  if (answer === "unknown") return { kind: "unknown" }
  return answer === "overloaded" ? { kind: "overloaded", retryAfterMs } : { kind: "answered", answer }
}

/**
 * Adds the running attempt to the item. A create starts the next life even if an attempt is running, and a dead letter
 * has no attempt, so these items stay unchanged.
 */
const tellInFlight = (item: CarriedItem, inFlight: string | undefined): CarriedItem => {
  if (inFlight === undefined) return item
  return item.kind === "put" || isOfDead(item) ? item : { ...item, inFlight }
}

/** These items change nothing for a pending key. */
const isOfDead = (item: CarriedItem): item is Replay | Discard =>
  item.kind === "replay" || item.kind === "discard"

/**
 * Whether a due timer must wait for the write's answer. A create of an identical timer changes nothing. A schedule
 * always makes it wait: an earlier schedule in the queue may have moved the timer that is known here, and a timer that
 * has started to fire must not be moved.
 */
const mayMove = (item: CarriedItem, known: Timer | undefined): boolean =>
  item.kind !== "put"
    ? !isOfDead(item)
    : item.onExisting === "replace" && item.timer.executeAt !== known?.executeAt
