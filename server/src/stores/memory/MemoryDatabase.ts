// Timers, finished lives and leases in plain memory: what a database file is to the SQLite store.
// Several nodes of one process may share one, as the simulator's do. Every call is synchronous, so
// each is a transaction by itself, and nothing here knows of Effect.

import { compareDue } from "../../domain/DueOrder.ts"
import {
  type Decision,
  decideCancel,
  decideChange,
  decideInsert,
  decideOutcome,
  decidePut,
  decideRecord,
  decideSchedule,
  emptyTally,
  type Known,
  type Tally,
} from "../../domain/decide.ts"
import { decideDiscard, decideReplay } from "../../domain/decideDead.ts"
import {
  type ArchivedItem,
  decideRestore,
  keyOfArchived,
  type RestoreResult,
} from "../../domain/decideRestore.ts"
import type { FinishedLife, FinishedState, Timer, TimerKey, Uuid } from "../../domain/Timer.ts"
import {
  type InsertAnswer,
  keyOfItem,
  type NamedDead,
  type Put,
  type WriteAnswer,
  type WriteItem,
} from "../../domain/WriteItem.ts"
import type { DueQuery } from "../../ports/TimerStore.ts"
import { MemberList } from "../MemberList.ts"
import { compareUtf8 } from "../Utf8Order.ts"
import { SettingsRecords } from "./SettingsRecords.ts"
import { SortedList } from "./SortedList.ts"

export interface ShardState {
  epoch: number
  /** The number of the last write that was taken under the epoch. */
  lastWrite: number
  counter: number
  foreign: number
  node: string | undefined
}

export interface Pending {
  readonly timer: Timer
  readonly shard: number
}

/** `entry` numbers the lives in the order they were stored, to tell equal instants apart. */
export interface Ended {
  readonly life: FinishedLife
  readonly entry: number
}

/** What lists walk. */
export interface NamespaceIndex {
  readonly pendingByDue: SortedList<Pending>
  readonly pendingById: SortedList<Pending>
  readonly ended: { readonly [state in FinishedState]: EndedIndex }
}

export interface EndedIndex {
  readonly byTime: SortedList<Ended>
  readonly byId: SortedList<Ended>
}

export class MemoryDatabase {
  readonly shards: ReadonlyArray<ShardState>
  /** The nodes that share this database. */
  readonly members = new MemberList()
  readonly settings = new SettingsRecords()
  readonly #pending = new Map<Uuid, Pending>()
  readonly #due: ReadonlyArray<SortedList<Pending>>
  /** The lives of a key, by revision. */
  readonly #ended = new Map<Uuid, SortedList<Ended>>()
  /** All that may be pruned: no dead letters. */
  readonly #prunable = new SortedList<Ended>(byTime)
  readonly #namespaces = new Map<string, NamespaceIndex>()
  #tally: Tally = emptyTally
  #entries = 0

  constructor(shards: number) {
    this.shards = Array.from({ length: shards }, () => ({
      epoch: 0,
      lastWrite: 0,
      counter: 0,
      foreign: 0,
      node: undefined,
    }))
    this.#due = Array.from({ length: shards }, () => new SortedList<Pending>(byDue))
  }

  get tally(): Tally {
    return this.#tally
  }

  apply(shard: number, item: WriteItem): WriteAnswer {
    const key = keyOfItem(item)
    const decision = this.#decide(item, this.known(key))
    this.#carryOut(shard, key, decision)
    return decision.answer
  }

  insert(shard: number, put: Put): InsertAnswer {
    const decision = decideInsert(put, this.known(put.timer))
    this.#carryOut(shard, put.timer, decision)
    return decision.answer
  }

  known(key: TimerKey): Known {
    return { pending: this.#pending.get(key.uuid)?.timer, last: this.#lastOf(key.uuid)?.life }
  }

  /** In due order; the caller stops when it has enough. */
  *due(query: DueQuery): Generator<Timer> {
    const { shard, exclusiveAfter, only } = query
    const except = new Set(query.except)
    const list = only === undefined ? this.#due[shard] : this.#namespaces.get(only)?.pendingByDue
    for (const pending of list?.upFrom(({ timer }) => compareDue(timer, exclusiveAfter) > 0) ?? []) {
      if (pending.timer.fireAt > query.inclusiveUntilMs) return
      if (pending.shard === shard && !except.has(pending.timer.namespace)) yield pending.timer
    }
  }

  index(namespace: string): NamespaceIndex {
    let index = this.#namespaces.get(namespace)
    if (index === undefined) {
      index = {
        pendingByDue: new SortedList(byDue),
        pendingById: new SortedList(byId),
        ended: { delivered: emptyEnded(), cancelled: emptyEnded(), dead: emptyEnded() },
      }
      this.#namespaces.set(namespace, index)
    }
    return index
  }

  /** Of all that have anything here, in order. */
  namespaceNames(): ReadonlyArray<string> {
    const names = new Set(this.settings.names)
    for (const [name, { pendingById, ended }] of this.#namespaces) {
      const lists = [pendingById, ended.delivered.byId, ended.cancelled.byId, ended.dead.byId]
      if (lists.some(({ size }) => size > 0)) names.add(name)
    }
    return [...names].sort(compareUtf8)
  }

  prune(exclusiveBeforeMs: number, limit: number): number {
    const old: Array<Ended> = []
    for (const ended of this.#prunable.upFrom(() => true)) {
      if (old.length === limit || ended.life.finishedAt >= exclusiveBeforeMs) break
      old.push(ended)
    }
    for (const ended of old) this.#forget(ended)
    return old.length
  }

  /** All that is there now: pending timers, then lives in the order in which they were stored. */
  contents(): ReadonlyArray<ArchivedItem> {
    const ended = [...this.#ended.values()].flatMap((lives) => [...lives.upFrom(() => true)])
    return [
      ...[...this.#pending.values()].map(({ timer }) => ({ kind: "pending" as const, timer })),
      ...ended.sort((a, b) => a.entry - b.entry).map(({ life }) => ({ kind: "ended" as const, life })),
    ]
  }

  restore(shard: number, item: ArchivedItem): RestoreResult {
    const { uuid, fireId, revision } = keyOfArchived(item)
    const { result, tally } = decideRestore(item, {
      pending: this.#pending.get(uuid)?.timer,
      lastRevision: this.#lastOf(uuid)?.life.revision,
      hasEnded: this.#lifeOf({ uuid, fireId, revision }) !== undefined,
    })
    if (tally === undefined) return { result }
    if (item.kind === "pending") this.#add({ timer: item.timer, shard })
    else this.#remember({ life: item.life, entry: ++this.#entries })
    this.#tally = addTallies(this.#tally, tally)
    return { result }
  }

  #decide(item: WriteItem, known: Known): Decision<WriteAnswer> {
    switch (item.kind) {
      case "put":
        return decidePut(item, known)
      case "change":
        return decideChange(item, known)
      case "schedule":
        return decideSchedule(item, known)
      case "cancel":
        return decideCancel(item, known)
      case "outcome":
        return decideOutcome(item, known)
      case "record":
        return decideRecord(item, this.#lifeOf(item.life)?.life)
      case "replay":
        return decideReplay(item, known, this.#deadLetter(item))
      case "discard":
        return decideDiscard(item, this.#deadLetter(item))
    }
  }

  #carryOut(shard: number, key: TimerKey, decision: Decision<InsertAnswer>): void {
    if (decision.pending !== undefined) {
      const before = this.#pending.get(key.uuid)
      if (before !== undefined) this.#remove(before)
      if (decision.pending !== null) this.#add({ timer: decision.pending, shard })
    }
    if (decision.finished !== undefined) {
      const corrected = decision.corrects ? this.#lifeOf(decision.finished) : undefined
      if (corrected !== undefined) this.#forget(corrected)
      this.#remember({ life: decision.finished, entry: corrected?.entry ?? ++this.#entries })
    }
    const removed = decision.removesDead === undefined ? undefined : this.#lifeOf(decision.removesDead)
    if (removed !== undefined) this.#forget(removed)
    if (decision.tally !== undefined) this.#tally = addTallies(this.#tally, decision.tally)
  }

  #add(pending: Pending): void {
    const index = this.index(pending.timer.namespace)
    this.#pending.set(pending.timer.uuid, pending)
    this.#due[pending.shard]?.add(pending)
    index.pendingByDue.add(pending)
    index.pendingById.add(pending)
  }

  #remove(pending: Pending): void {
    const index = this.index(pending.timer.namespace)
    this.#pending.delete(pending.timer.uuid)
    this.#due[pending.shard]?.remove(pending)
    index.pendingByDue.remove(pending)
    index.pendingById.remove(pending)
  }

  #remember(ended: Ended): void {
    const index = this.index(ended.life.namespace).ended[ended.life.state]
    let lives = this.#ended.get(ended.life.uuid)
    if (lives === undefined) {
      lives = new SortedList(byRevision)
      this.#ended.set(ended.life.uuid, lives)
    }
    lives.add(ended)
    index.byTime.add(ended)
    index.byId.add(ended)
    if (ended.life.state !== "dead") this.#prunable.add(ended)
  }

  #forget(ended: Ended): void {
    const index = this.index(ended.life.namespace).ended[ended.life.state]
    const lives = this.#ended.get(ended.life.uuid)
    lives?.remove(ended)
    if (lives?.size === 0) this.#ended.delete(ended.life.uuid)
    index.byTime.remove(ended)
    index.byId.remove(ended)
    this.#prunable.remove(ended)
  }

  #deadLetter({ key, deadFireId, deadRevision }: NamedDead): FinishedLife | undefined {
    const life = this.#lifeOf({ uuid: key.uuid, fireId: deadFireId, revision: deadRevision })?.life
    return life?.state === "dead" ? life : undefined
  }

  #lastOf(uuid: Uuid): Ended | undefined {
    for (const ended of this.#ended.get(uuid)?.downFrom(() => false) ?? []) return ended
    return undefined
  }

  /** A life keeps its revision, or has a higher one from its cancel: none below needs a look. */
  #lifeOf({ uuid, fireId, revision }: Pick<FinishedLife, "uuid" | "fireId" | "revision">): Ended | undefined {
    for (const ended of this.#ended.get(uuid)?.upFrom(({ life }) => life.revision >= revision) ?? []) {
      if (ended.life.fireId === fireId) return ended
    }
    return undefined
  }
}

export const makeMemoryDatabase = (options: { readonly shards: number }): MemoryDatabase =>
  new MemoryDatabase(options.shards)

const emptyEnded = (): EndedIndex => ({
  byTime: new SortedList(byTime),
  byId: new SortedList(byIdAndRevision),
})

export const addTallies = (a: Tally, b: Partial<Tally>): Tally => ({
  created: a.created + (b.created ?? 0),
  rearmed: a.rearmed + (b.rearmed ?? 0),
  replayed: a.replayed + (b.replayed ?? 0),
  delivered: a.delivered + (b.delivered ?? 0),
  cancelled: a.cancelled + (b.cancelled ?? 0),
  replaced: a.replaced + (b.replaced ?? 0),
  dead: a.dead + (b.dead ?? 0),
  discarded: a.discarded + (b.discarded ?? 0),
})

const byDue = (a: Pending, b: Pending): number => compareDue(a.timer, b.timer)

const byId = (a: Pending, b: Pending): number => compareUtf8(a.timer.timerId, b.timer.timerId)

const byTime = (a: Ended, b: Ended): number => a.life.finishedAt - b.life.finishedAt || a.entry - b.entry

const byRevision = (a: Ended, b: Ended): number => a.life.revision - b.life.revision || a.entry - b.entry

const byIdAndRevision = (a: Ended, b: Ended): number =>
  compareUtf8(a.life.timerId, b.life.timerId) || byRevision(a, b)
