// One write on its way to the owner of its shard, and what is known of it so far: whether an owner may have done
// it decides what may be done next, and what its caller is told if the time runs out.
import type { Uuid } from "../../domain/Timer.ts"
import { itemBytes, type WriteAnswer } from "../../domain/WriteItem.ts"
import type { CarriedItem } from "../../ports/Peers.ts"
import type { NoOwner, TooManyWrites } from "../front/RefusedWrite.ts"

export type CarriedResult = WriteAnswer | TooManyWrites | NoOwner

export class CarriedWrite {
  readonly item: CarriedItem
  readonly uuid: Uuid
  readonly shard: number
  readonly bytes: number
  readonly load: PeerLoad
  readonly deadlineNanos: bigint
  readonly onAnswer: (result: CarriedResult) => void
  /** An owner may have done it: it is repeated, marked, to whoever owns the shard, and never inserted. */
  mayBeDone: boolean
  /** It may have been inserted: it may be inserted again, marked. */
  mayBeInserted = false
  /** Someone is at work on it: the key's next write waits until that ends, even if the caller has gone. */
  isUnderWay = false
  /** The caller has been answered. */
  isOver = false
  /** How often it has been put off, and until when. */
  pauses = 0
  dueNanos = 0n
  /** Since when nobody has been seen to own the shard. */
  freeSinceNanos: bigint | undefined
  /** Who did not take it when it was last tried. */
  refusedBy: string | undefined

  constructor(
    given: Pick<
      CarriedWrite,
      "item" | "uuid" | "shard" | "bytes" | "load" | "deadlineNanos" | "onAnswer" | "mayBeDone"
    >,
  ) {
    this.item = given.item
    this.uuid = given.uuid
    this.shard = given.shard
    this.bytes = given.bytes
    this.load = given.load
    this.deadlineNanos = given.deadlineNanos
    this.onAnswer = given.onAnswer
    this.mayBeDone = given.mayBeDone
  }

  get isUnknown(): boolean {
    return this.mayBeDone || this.mayBeInserted
  }

  /**
   * The item as it is to be sent now. Between an unknown result and its repeat others may write the key: the mark
   * keeps the repeat from being done twice. A schedule has none: its `askedAt` says whether it is still wanted.
   */
  get outgoing(): CarriedItem {
    return this.isUnknown && this.item.kind !== "schedule" ? { ...this.item, isRepeat: true } : this.item
  }
}

/** What is on its way to one peer, by count and weight. */
export class PeerLoad {
  /** Absent: whose owner was not in sight. */
  readonly peer: string | undefined
  items = 0
  bytes = 0

  constructor(peer: string | undefined) {
    this.peer = peer
  }

  add(bytes: number): void {
    this.items++
    this.bytes += bytes
  }

  remove(bytes: number): void {
    this.items--
    this.bytes -= bytes
  }
}

/** A target's text is bounded apart from the payload; escaped in a message it may be twice as long. */
export const carriedBytes = (item: CarriedItem): number => {
  const target = item.kind === "put" || item.kind === "schedule" ? item.timer.spec.target : targetSet(item)
  if (target?.type !== "webhook") return itemBytes(item)
  let characters = target.url.length
  for (const [name, value] of Object.entries(target.headers ?? {})) characters += name.length + value.length
  return itemBytes(item) + 2 * characters
}

const targetSet = (item: CarriedItem) => (item.kind === "change" ? item.set.target : undefined)
