// A timer in memory, and its state on the way from the window to its settlement.
import type { Timer, Uuid } from "../../domain/Timer.ts"
import { timerBytes } from "../../domain/Timer.ts"
import { type HeapItem, rankOf, subrankOf } from "./DueHeap.ts"
import type { Window } from "./Window.ts"

/** The owned shard of an entry, as the later stages see it. */
export interface Home {
  readonly shard: number
  readonly epoch: number
  readonly window: Window
  /** Whether the lease can still be trusted. Asked before each attempt. */
  mayStart(): boolean
  /** The stored state differs from the entry: read the timer again and use what is there. */
  readAgain(entry: Entry): void
}

/**
 * - waiting: among the waiting timers of the window, until it is due
 * - held: due, but a change of its key is queued, and its answer decides
 * - ready: due, in the dispatcher's queue; it can still be cancelled
 * - inFlight: its attempt is running
 * - settling: its attempt has ended, and its outcome is in the write queue
 */
export type EntryState = "waiting" | "held" | "ready" | "inFlight" | "settling"

export class Entry implements HeapItem {
  heapIndex = -1
  /** Its namespace was new when the entry began to wait. */
  isOfNew = false
  state: EntryState = "waiting"
  /** The key was cancelled or armed again while the attempt ran. Its outcome is only recorded. */
  isSuperseded = false
  /** The wall-clock time at which its attempt started. */
  startedAt: number | undefined
  /** Its first request was sent. If the attempt is abandoned, it is sent again. */
  isSent = false
  /** The host of its attempt, once the dispatcher has asked for it. */
  host: string | undefined
  readonly home: Home
  readonly timer: Timer
  readonly uuid: Uuid
  readonly fireId: string
  readonly rank: number
  readonly subrank: number
  readonly fireAt: number
  readonly bytes: number

  constructor(timer: Timer, home: Home) {
    this.home = home
    this.timer = timer
    this.uuid = timer.uuid
    this.fireId = timer.fireId
    this.rank = rankOf(timer.fireId)
    this.subrank = subrankOf(timer.fireId)
    this.fireAt = timer.fireAt
    this.bytes = timerBytes(timer)
  }

  /** Whether the timer is in the same arming, before the same attempt. */
  isArmingOf({ fireId, attempts, fireAt, askedAt }: Timer): boolean {
    const own = this.timer
    return (
      own.fireId === fireId && own.attempts === attempts && own.fireAt === fireAt && own.askedAt === askedAt
    )
  }
}
