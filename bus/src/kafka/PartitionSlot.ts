// One partition that this member reads: a partition of the topic, and the partition of the same number in the group's
// topic of retries. The same member always has both, so it knows which keys are parked.
//
//   record → done already?                  skip
//          → waits in the topic of retries? skip
//          → key parked?                    follow it to the topic of retries
//          → begun by a member that ended?  to the topic of retries, as delivered once
//          → intake → handled               done
//                   → failed                to the topic of retries, with the time when it is due, and its key is parked
//
// A message counts as done in its topic when it is stored in the other one, never before. Both offsets are committed in
// one request. So after a crash a message is in at least one of the two. The slot reads the whole rest of the topic of
// retries before it handles the first message. If a message is in both, it is skipped in the first. If two copies of a
// message are in the topic of retries, the newer one counts. So the order of a key holds over restarts and rebalances.
//
// A delivery counts also if it ends with the process. For a message of the topic, the commit says in advance how far the
// member takes messages. For a copy in the topic of retries, a newer copy counts the delivery before it begins.

import type { KafkaOutgoing, KafkaProducer } from "./KafkaProducer.ts"
import { type CommitState, OffsetTracker, spanMost } from "./OffsetTracker.ts"
import { headerOf, type KafkaRecordIn } from "./partitionReads.ts"
import { type RetryEntry, RetryQueue } from "./RetryQueue.ts"
import { pause } from "./within.ts"

export const retryHeaders = {
  origin: "punctual-origin",
  deliveries: "punctual-deliveries",
  dueAt: "punctual-due-at",
  begun: "punctual-begun",
} as const

/** A message on its way to the topic of retries. */
interface Move {
  readonly record: KafkaRecordIn
  readonly key: string
  readonly origin: string
  readonly originOffset: number
  readonly state: DeliveryState
  /** The older copy. Absent if the message is still in its topic. */
  readonly entry: RetryEntry | undefined
  /** The message is with the intake as soon as it is stored there. */
  take?(entry: RetryEntry): void
}

type DeliveryState = Pick<RetryEntry, "deliveries" | "dueAtMs" | "isBegun">

/** It was not delivered, and waits for its key. */
const following: DeliveryState = { deliveries: 0, dueAtMs: 0, isBegun: false }

export interface SlotStart {
  readonly main: CommitState
  readonly retries: CommitState
}

export interface SlotCommit extends SlotStart {
  stored(): void
}

export interface SlotOptions {
  readonly partition: number
  readonly retryTopic: string
  readonly producer: Pick<KafkaProducer, "send">
  /** Something changed, so a commit or another read may be possible. */
  onChange(): void
  log(message: string): void
}

const movesAtOnce = 500
/** A slot with more messages on their way to the topic of retries takes no new ones. */
const movesWaitingMost = 1_000
const movePauseMs = 1_000
/**
 * A commit announces this many messages beyond the newest one that the slot has taken. If the process ends without notice,
 * all announced messages go to the topic of retries, also those that it had not taken yet.
 */
const takenAhead = 512

export class PartitionSlot {
  readonly partition: number
  readonly queue = new RetryQueue()
  main: OffsetTracker
  readonly retries: OffsetTracker
  /** Records that were read and not given to the intake yet. */
  readonly buffer: Array<KafkaRecordIn> = []
  /** The next offset to read from the topic. */
  nextRead: number
  /** Something was done since the last commit. */
  isDirty = false
  /** The next read is not before this time, by the monotonic clock. */
  notBeforeMs = 0
  /** Copies of the topic of retries that are on their way to the intake. */
  preparing = 0
  /** The broker knows that the slot takes messages before this offset. */
  #takenTo = 0
  /** A suspect is done, and the broker does not know it yet. */
  #isSuspectUnsaved = false
  #state: "active" | "leaving" | "lost" = "active"
  readonly #options: SlotOptions
  readonly #moves: Array<Move> = []
  #moving: Promise<void> | undefined

  constructor(start: SlotStart, options: SlotOptions) {
    this.#options = options
    this.partition = options.partition
    this.main = new OffsetTracker(start.main)
    this.retries = new OffsetTracker(start.retries)
    this.nextRead = start.main.offset
  }

  get isActive(): boolean {
    return this.#state === "active"
  }

  get isLost(): boolean {
    return this.#state === "lost"
  }

  /** Whether the slot may take more records. */
  get hasRoom(): boolean {
    return (
      this.isActive &&
      this.main.span < spanMost &&
      this.retries.span < spanMost &&
      this.#moves.length < movesWaitingMost
    )
  }

  /** Whether the end of the process would count for a suspect. */
  get hasSuspectOut(): boolean {
    return this.queue.hasSuspectOut || this.#isSuspectUnsaved
  }

  /** The next record that may go to the intake now. */
  next(): KafkaRecordIn | undefined {
    const [record] = this.buffer
    if (record === undefined || !this.hasRoom) return undefined
    if (record.offset < this.#takenTo) return this.buffer.shift()
    // The broker must know first.
    this.#changed()
    return undefined
  }

  /** The offsets for the next commit, and what to do when they are stored. */
  commit(withDone: boolean): SlotCommit {
    const takenTo = this.isActive
      ? Math.max(this.main.position + takenAhead, this.main.suspectsTo)
      : undefined
    const savesSuspect = this.#isSuspectUnsaved
    return {
      main: this.main.commit({ takenTo, withDone }),
      retries: this.retries.commit({ withDone }),
      stored: () => {
        this.#takenTo = takenTo ?? 0
        if (savesSuspect) this.#isSuspectUnsaved = false
      },
    }
  }

  /** There are no messages before this offset that the slot has not seen. */
  passTo(offset: number): void {
    if (this.main.position >= offset) return
    this.main.passTo(offset)
    this.#changed()
  }

  /** Continues at another offset, because the records before it are gone. */
  restartAt(offset: number): void {
    this.main = new OffsetTracker({ offset, note: "" })
    this.nextRead = offset
    this.#changed()
  }

  /** From now on, messages that come back without an answer are left to the next member. */
  leave(): void {
    if (this.#state !== "active") return
    this.#state = "leaving"
    // The last commit says that no message is with the intake any more.
    this.isDirty = true
  }

  /** From now on, nothing about the partition is stored. Another member may have it. */
  lose(): void {
    this.#state = "lost"
    this.#moves.length = 0
  }

  /** Resolves when every message on its way to the topic of retries is stored there, or when the slot is lost. */
  async settled(): Promise<void> {
    while (this.#moving !== undefined) await this.#moving
  }

  /**
   * A record of the topic of retries that was written before this member got the partition. It is due at the given time
   * at the latest, because the clock of the member that wrote it may have been wrong.
   */
  load(record: KafkaRecordIn, latestDueAtMs: number): void {
    const { offset } = record
    const entry = entryOf(record, latestDueAtMs)
    if (entry === undefined || this.retries.wasDone(offset)) {
      this.retries.passTo(offset + 1)
      return
    }
    this.retries.begin(offset)
    const older = this.queue.add(entry)
    if (older !== undefined) this.retries.done(older.offset)
  }

  /** Decides what happens to a record of the topic. Returns whether the intake must handle it. */
  mustHandle(record: KafkaRecordIn): boolean {
    const { offset } = record
    if (this.main.wasDone(offset) || this.queue.has(originOf(record))) {
      this.main.passTo(offset + 1)
      this.#changed()
      return false
    }
    this.main.begin(offset)
    if (this.queue.isParked(keyOf(record))) this.#move({ record, state: following })
    else if (offset < this.main.suspectsTo)
      this.#move({ record, state: { deliveries: 1, dueAtMs: 0, isBegun: true } })
    else return true
    return false
  }

  /** The message of the topic, or the copy of it in the topic of retries, is done. */
  done(record: KafkaRecordIn, entry: RetryEntry | undefined): void {
    if (this.isLost) return
    if (entry === undefined) this.main.done(record.offset)
    else this.#endEntry(entry)
    this.#changed()
  }

  /**
   * The message comes back, to be delivered again at this time. Without a time, it was not delivered: it follows its
   * key, or it is left to the next member.
   */
  comeBack(record: KafkaRecordIn, entry: RetryEntry | undefined, dueAtMs: number | undefined): void {
    if (this.isLost) return
    const deliveries = entry?.deliveries ?? 1
    if (dueAtMs !== undefined) this.#move({ record, entry, state: { deliveries, dueAtMs, isBegun: false } })
    else if (entry !== undefined)
      this.#move({ record, entry, state: { ...entry, deliveries: deliveries - 1, isBegun: false } })
    else if (this.isActive) this.#move({ record, state: following })
  }

  /** Counts the delivery of a copy that is out, and then passes it to the intake. */
  deliver(record: KafkaRecordIn, entry: RetryEntry, take: (entry: RetryEntry) => void): void {
    const state = { deliveries: entry.deliveries + 1, dueAtMs: entry.dueAtMs, isBegun: true }
    this.#move({ record, entry, state, take })
  }

  /**
   * Writes a waiting message again, at the end of the topic of retries, so that the offset of the group can move on. Its
   * place in its key stays.
   */
  writeAgain(record: KafkaRecordIn, entry: RetryEntry): void {
    this.#move({ record, entry, state: entry })
  }

  /** The copy is gone from the topic of retries, so nobody can handle it. */
  drop(entry: RetryEntry): void {
    this.#endEntry(entry)
    this.#changed()
  }

  #endEntry(entry: RetryEntry): void {
    if (this.queue.isSuspectOut(entry)) this.#isSuspectUnsaved = true
    this.queue.remove(entry)
    this.retries.done(entry.offset)
  }

  #move({ record, entry, state, take }: Pick<Move, "record" | "state"> & Partial<Move>): void {
    const key = entry?.key ?? keyOf(record)
    this.queue.expect(key)
    this.#moves.push({
      record,
      key,
      origin: entry?.origin ?? originOf(record),
      originOffset: entry?.originOffset ?? record.offset,
      state,
      entry,
      ...(take === undefined ? {} : { take }),
    })
    this.#keepMoving()
  }

  #keepMoving(): void {
    if (this.#moving !== undefined || this.#moves.length === 0 || this.isLost) return
    this.#moving = this.#moveAll().finally(() => {
      this.#moving = undefined
      // A move may have come after the last look.
      this.#keepMoving()
    })
  }

  /** One call at a time, so that copies are stored in the order of the moves. */
  async #moveAll(): Promise<void> {
    // Moves of the same turn are stored together.
    await Promise.resolve()
    while (this.#moves.length > 0 && !this.isLost) {
      const moves = this.#moves.slice(0, movesAtOnce)
      try {
        const offsets = await this.#options.producer.send(moves.map((move) => this.#outgoing(move)))
        if (this.isLost) return
        this.#moves.splice(0, moves.length)
        moves.forEach((move, index) => {
          this.#stored(move, Number(offsets[index]))
        })
        this.#changed()
      } catch (error) {
        if (this.#moves.length === 0) return
        const why = error instanceof Error ? error.message : String(error)
        this.#options.log(
          `messages that must be retried cannot be stored in ${this.#options.retryTopic} yet: ${why}`,
        )
        await pause(movePauseMs)
      }
    }
  }

  #stored({ record, key, origin, originOffset, state, entry, take }: Move, offset: number): void {
    const { deliveries, dueAtMs, isBegun } = state
    const copy = { key, origin, originOffset, offset, deliveries, dueAtMs, isBegun }
    this.retries.begin(offset)
    const older = this.queue.add(copy, take !== undefined)
    if (older !== undefined) this.retries.done(older.offset)
    this.queue.expectNoMore(key)
    if (entry === undefined) this.main.done(record.offset)
    take?.(copy)
  }

  #outgoing({ record, origin, state }: Move): KafkaOutgoing {
    const headers: Record<string, string | Buffer> = {}
    for (const [name, value] of record.headers)
      if (name !== null) headers[name.toString()] = value ?? Buffer.alloc(0)
    headers[retryHeaders.origin] = origin
    headers[retryHeaders.deliveries] = String(state.deliveries)
    headers[retryHeaders.dueAt] = String(state.dueAtMs)
    headers[retryHeaders.begun] = String(state.isBegun)
    return {
      topic: this.#options.retryTopic,
      partition: this.partition,
      key: record.key ?? undefined,
      value: record.value ?? Buffer.alloc(0),
      headers,
    }
  }

  #changed(): void {
    this.isDirty = true
    this.#options.onChange()
  }
}

/** Identifies the message. The time distinguishes it from one with the same offset in a topic that was made again. */
export const originOf = ({ offset, timestampMs }: KafkaRecordIn): string => `${offset}-${timestampMs}`

/** Messages without a key have no order, so each is a key of its own. */
const keyOf = (record: KafkaRecordIn): string => record.key?.toString("latin1") ?? `\u0000${originOf(record)}`

const entryOf = (record: KafkaRecordIn, latestDueAtMs: number): RetryEntry | undefined => {
  const origin = headerOf(record, retryHeaders.origin) ?? ""
  const originOffset = Number(/^(\d+)-\d+$/.exec(origin)?.[1] ?? Number.NaN)
  const [deliveries, dueAtMs] = [retryHeaders.deliveries, retryHeaders.dueAt].map((name) =>
    Number(headerOf(record, name) ?? Number.NaN),
  )
  if (!Number.isSafeInteger(originOffset) || deliveries === undefined || dueAtMs === undefined)
    return undefined
  if (!Number.isSafeInteger(deliveries) || !Number.isSafeInteger(dueAtMs)) return undefined
  const key = record.key?.toString("latin1") ?? `\u0000${origin}`
  return {
    key,
    origin,
    originOffset,
    offset: record.offset,
    deliveries,
    dueAtMs: Math.min(dueAtMs, latestDueAtMs),
    isBegun: headerOf(record, retryHeaders.begun) === "true",
  }
}
