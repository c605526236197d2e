// One write on its way to the owner of its shard, and what is known about it so far. Whether an owner may have executed
// it decides what may be done next, and what the caller is told if the time runs out.
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
  /** An owner may have executed the write. It is repeated to the current owner with a mark, and never inserted. */
  mayBeDone: boolean
  /** The write may have been inserted. It may be inserted again, with a mark. */
  mayBeInserted = false
  /**
   * A call for this write is running. The next write of the key waits until the call ends, even if the caller has gone.
   */
  isUnderWay = false
  /** The caller has been answered. */
  isOver = false
  /** How often the write was postponed, and until when. */
  pauses = 0
  dueNanos = 0n
  /** Since when the shard has had no visible owner. */
  freeSinceNanos: bigint | undefined
  /** The node that did not accept the write at the last try. */
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
   * The item to send now. Between an unknown result and its repeat, others may write the key. The mark prevents that
   * the repeat is executed twice. A schedule has no mark: its `askedAt` says whether it is still wanted.
   */
  get outgoing(): CarriedItem {
    return this.isUnknown && this.item.kind !== "schedule" ? { ...this.item, isRepeat: true } : this.item
  }
}

/** The number and size of the writes on their way to one peer. */
export class PeerLoad {
  /** Absent for writes whose owner was not known. */
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

/** The length of a target's text has its own limit, apart from the payload. JSON escaping may double it. */
export const carriedBytes = (item: CarriedItem): number => {
  const target = item.kind === "put" || item.kind === "schedule" ? item.timer.spec.target : targetSet(item)
  if (target?.type !== "webhook") return itemBytes(item)
  let characters = target.url.length
  for (const [name, value] of Object.entries(target.headers ?? {})) characters += name.length + value.length
  return itemBytes(item) + 2 * characters
}

const targetSet = (item: CarriedItem) => (item.kind === "change" ? item.set.target : undefined)
