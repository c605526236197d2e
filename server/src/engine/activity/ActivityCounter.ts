// Counts what happens to the timers of this node, minute by minute, in memory. Each event costs one look-up and one
// addition. Somebody else takes the minutes that are over and stores them.
import { randomBytes } from "node:crypto"
import {
  type ActivityRecord,
  activityTypes,
  latenessBucketOf,
  latenessBuckets,
} from "../../domain/ActivityRecord.ts"
import { eventTypeOf, type TimerEventType } from "../../domain/TimerEvent.ts"
import { keyOfItem, type WriteAnswer, type WriteItem } from "../../domain/WriteItem.ts"
import type { WallClock } from "../../ports/WallClock.ts"
import { CountTable } from "./CountTable.ts"

export const minuteMs = 60_000
/** The rows of a record. */
export const namespacesKept = 1_000
export const lateNamesKept = 50
/** Names in memory. */
const namesMax = 10_000
/** If minutes cannot be stored, so many wait. The oldest are dropped. */
const endedMax = 30

const columns: Readonly<Partial<Record<TimerEventType, number>>> = Object.fromEntries(
  activityTypes.map((type, column) => [type, column]),
)

/** The counts of one minute. */
class Minute {
  readonly atMs: number
  readonly #namespaces = new CountTable(activityTypes.length, namesMax)
  readonly #lateness = new Array<number>(latenessBuckets).fill(0)
  readonly #lateNamespaces = new CountTable(latenessBuckets, namesMax)
  readonly #lateHosts = new CountTable(latenessBuckets, namesMax)

  constructor(atMs: number) {
    this.atMs = atMs
  }

  get isEmpty(): boolean {
    return this.#namespaces.isEmpty && this.#lateNamespaces.isEmpty
  }

  count(namespace: string, column: number): void {
    this.#namespaces.count(namespace, column)
  }

  sent(namespace: string, host: string, bucket: number): void {
    this.#lateness[bucket] = (this.#lateness[bucket] ?? 0) + 1
    this.#lateNamespaces.count(namespace, bucket)
    this.#lateHosts.count(host, bucket)
  }

  get record(): ActivityRecord {
    const late = {
      namespaces: this.#lateNamespaces.busiest(lateNamesKept),
      hosts: this.#lateHosts.busiest(lateNamesKept),
    }
    return {
      atMs: this.atMs,
      namespaces: this.#namespaces.busiest(namespacesKept),
      lateness: [...this.#lateness],
      ...(this.#lateNamespaces.isEmpty ? {} : { late }),
    }
  }
}

export class ActivityCounter {
  /** Distinguishes the records of several nodes, and of several runs of one. */
  readonly process = randomBytes(6).toString("hex")
  readonly #wall: Pick<WallClock["Service"], "now">
  #minute = new Minute(0)
  #ended: Array<ActivityRecord> = []

  constructor(wall: Pick<WallClock["Service"], "now">) {
    this.#wall = wall
  }

  answered(item: WriteItem, answer: WriteAnswer): void {
    const type = eventTypeOf(item, answer)
    const column = type === undefined ? undefined : columns[type]
    if (column !== undefined) this.#current().count(keyOfItem(item).namespace, column)
  }

  /** The first request of an arming was sent. */
  sent(namespace: string, host: string, latenessMs: number): void {
    this.#current().sent(namespace, host, latenessBucketOf(latenessMs))
  }

  /** The minutes that are over and not stored, oldest first. */
  ended(): ReadonlyArray<ActivityRecord> {
    this.#current()
    return this.#ended
  }

  /** The same, and the current minute as far as it has come. */
  unstored(): ReadonlyArray<ActivityRecord> {
    const current = this.#current()
    return current.isEmpty ? this.#ended : [...this.#ended, current.record]
  }

  /** The oldest minute is stored. */
  stored(): void {
    this.#ended.shift()
  }

  /** Ends the current minute early, because the process stops. */
  stop(): void {
    this.#end(this.#current())
  }

  #current(): Minute {
    const nowMs = this.#wall.now()
    // A remainder of so large a number takes longer than all the rest of counting.
    const intoMs = nowMs - this.#minute.atMs
    if (intoMs >= 0 && intoMs < minuteMs) return this.#minute
    this.#end(this.#minute)
    this.#minute = new Minute(nowMs - (nowMs % minuteMs))
    return this.#minute
  }

  #end(minute: Minute): void {
    if (minute.isEmpty) return
    this.#ended.push(minute.record)
    if (this.#ended.length > endedMax) this.#ended.shift()
  }
}
