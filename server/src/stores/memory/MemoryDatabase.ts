// Timers, finished lives and leases in memory: for the memory store this is what the file is for the SQLite store.
// Several nodes of one process can share it, as in the simulator. Every call is synchronous, so each is a transaction,
// and this code does not use Effect. It makes no decisions.

import { MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { addTallies, emptyTally, type Known, type Tally } from "../../domain/Decision.ts"
import { compareDue } from "../../domain/DueOrder.ts"
import type { FinishedLife, FinishedState, Timer, TimerKey, Uuid } from "../../domain/Timer.ts"
import type { ArchivedItem, NamedLife } from "../../domain/WriteItem.ts"
import { type WordRow, wordRowsOfLife } from "../../domain/words.ts"
import type { Commit, CommitAnswer, Expectation, KeyChange, Look } from "../../ports/ShardStorage.ts"
import type { DueQuery } from "../../ports/TimerStore.ts"
import { wordsOfNew } from "../keyChangeOf.ts"
import { MemberList } from "../MemberList.ts"
import { compareUtf8 } from "../Utf8Order.ts"
import { SortedList } from "./SortedList.ts"

export interface ShardState {
  epoch: number
  /** The number of the last commit that was accepted under the epoch. */
  lastCommit: number
  counter: number
  foreign: number
  node: string | undefined
}

export interface Pending {
  readonly timer: Timer
  readonly shard: number
}

/** `entry` numbers the lives in the order in which they were stored, to order lives that ended at the same instant. */
export interface Ended {
  readonly life: FinishedLife
  readonly entry: number
}

/** The indexes for scans. */
export interface NamespaceIndex {
  readonly pendingByDue: SortedList<Pending>
  readonly pendingById: SortedList<Pending>
  readonly ended: { readonly [state in FinishedState]: EndedIndex }
  /** By state and word, as combined by `wordKey`. */
  readonly words: Map<string, SortedList<WordEntry>>
}

/** A row of the index of words, and the key that it belongs to. */
export interface WordEntry extends WordRow {
  readonly uuid: Uuid
}

export const wordKey = (state: WordRow["state"], word: string): string => `${state} ${word}`

export interface EndedIndex {
  readonly byTime: SortedList<Ended>
  readonly byId: SortedList<Ended>
}

export class MemoryDatabase {
  readonly shards: ReadonlyArray<ShardState>
  /** The nodes that share this database. */
  readonly members = new MemberList()
  readonly documents = new MemoryDocuments()
  readonly #pending = new Map<Uuid, Pending>()
  readonly #due: ReadonlyArray<SortedList<Pending>>
  /** The lives of a key, by revision. */
  readonly #ended = new Map<Uuid, SortedList<Ended>>()
  /** All lives that may be pruned, so no dead letters. */
  readonly #prunable = new SortedList<Ended>(byTime)
  readonly #namespaces = new Map<string, NamespaceIndex>()
  #tally: Tally = emptyTally
  #entries = 0

  constructor(shards: number) {
    this.shards = Array.from({ length: shards }, () => ({
      epoch: 0,
      lastCommit: 0,
      counter: 0,
      foreign: 0,
      node: undefined,
    }))
    this.#due = Array.from({ length: shards }, () => new SortedList<Pending>(byDue))
  }

  get tally(): Tally {
    return this.#tally
  }

  known(key: TimerKey): Known {
    return { pending: this.#pending.get(key.uuid)?.timer, last: this.#lastOf(key.uuid)?.life }
  }

  look({ key, lives, withPayload }: Look): Known {
    const named = lives?.flatMap((life) => this.#lifeOf(key.uuid, life)?.life ?? [])
    const { pending, last } = this.known(key)
    const known = { pending, last, ...(named === undefined ? {} : { lives: named }) }
    return withPayload ? known : withoutPayloads(known)
  }

  commit({ shard, epoch, number, changes }: Commit): CommitAnswer {
    const state = this.shards[shard]
    if (state?.epoch !== epoch) return { result: "ownershipLost" }
    if (number <= state.lastCommit) return { result: "overtaken" }
    state.lastCommit = number
    const missed = changes.flatMap((change, index) => (this.change(shard, change) ? [] : [index]))
    return { result: "committed", missed, refused: [] }
  }

  /** Returns for each timer whether its key was unknown, so that it was stored. */
  insertNew(shard: number, timers: ReadonlyArray<Timer>): ReadonlyArray<boolean> {
    const stored = timers.map((timer) =>
      this.change(shard, {
        key: timer,
        expects: { pending: null, last: null },
        pending: timer,
        payload: "write",
        ...wordsOfNew(timer),
        tally: { created: 1 },
      }),
    )
    const state = this.shards[shard]
    if (state !== undefined && stored.includes(true)) state.foreign++
    return stored
  }

  /** In due order. The caller stops when it has enough. */
  *due(query: DueQuery): Generator<Timer> {
    const { shard, exclusiveAfter, only } = query
    const except = new Set(query.except)
    const list = only === undefined ? this.#due[shard] : this.#namespaces.get(only)?.pendingByDue
    for (const pending of list?.upFrom(({ timer }) => compareDue(timer, exclusiveAfter) > 0) ?? []) {
      if (pending.timer.fireAt > query.inclusiveUntilMs) return
      if (pending.shard === shard && !except.has(pending.timer.namespace)) yield pending.timer
    }
  }

  /** All pending timers of a shard, by their due times. */
  dueOf(shard: number): SortedList<Pending> {
    return this.#due[shard] ?? new SortedList(byDue)
  }

  index(namespace: string): NamespaceIndex {
    let index = this.#namespaces.get(namespace)
    if (index === undefined) {
      index = {
        pendingByDue: new SortedList(byDue),
        pendingById: new SortedList(byId),
        ended: { delivered: emptyEnded(), cancelled: emptyEnded(), dead: emptyEnded() },
        words: new Map(),
      }
      this.#namespaces.set(namespace, index)
    }
    return index
  }

  /** The names of all namespaces that have timers or lives here, sorted. */
  namespaceNames(): ReadonlyArray<string> {
    const names: Array<string> = []
    for (const [name, { pendingById, ended }] of this.#namespaces) {
      const lists = [pendingById, ended.delivered.byId, ended.cancelled.byId, ended.dead.byId]
      if (lists.some(({ size }) => size > 0)) names.push(name)
    }
    return names.sort(compareUtf8)
  }

  prune(exclusiveBeforeMs: number, limit: number): number {
    const old: Array<Ended> = []
    for (const ended of this.#prunable.upFrom(() => true)) {
      if (old.length === limit || ended.life.finishedAt >= exclusiveBeforeMs) break
      old.push(ended)
    }
    for (const ended of old) {
      this.#forget(ended)
      this.#forgetWords(ended.life, wordRowsOfLife(ended.life))
    }
    return old.length
  }

  /** Everything that is stored now: pending timers, then lives in the order in which they were stored. */
  contents(): ReadonlyArray<ArchivedItem> {
    const ended = [...this.#ended.values()].flatMap((lives) => [...lives.upFrom(() => true)])
    return [
      ...[...this.#pending.values()].map(({ timer }) => ({ kind: "pending" as const, timer })),
      ...ended.sort((a, b) => a.entry - b.entry).map(({ life }) => ({ kind: "ended" as const, life })),
    ]
  }

  /** Changes a key without a fence. Returns false and does nothing if the change expects another state. */
  change(shard: number, change: KeyChange): boolean {
    if (!this.#holds(change.key, change.expects)) return false
    const { key, pending, payload, finished, removesLife, words, tally } = change
    const before = this.#pending.get(key.uuid)
    const life = change.expects.life === undefined ? undefined : this.#lifeOf(key.uuid, change.expects.life)
    if (pending !== undefined && before !== undefined) this.#remove(before)
    if (pending)
      this.#add({ timer: withPayload(pending, payload === "keep" ? before?.timer : pending), shard })
    if (life !== undefined && (removesLife || finished !== undefined)) this.#forget(life)
    if (finished !== undefined) this.#remember({ life: finished, entry: life?.entry ?? ++this.#entries })
    if (words !== undefined) {
      this.#forgetWords(key, words.removed)
      this.#addWords(key, words.added)
    }
    this.#tally = addTallies(this.#tally, tally)
    return true
  }

  #holds({ uuid }: TimerKey, { pending, last, life }: Expectation): boolean {
    const there = this.#pending.get(uuid)?.timer
    if (pending === null && there !== undefined) return false
    if (pending && !isInState(there, pending)) return false
    if (last !== undefined && (this.#lastOf(uuid)?.life.fireId ?? null) !== last) return false
    return life === undefined || (this.#lifeOf(uuid, life)?.life.state ?? null) === life.state
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

  /** The timer or life that a row of the index of words refers to. `undefined` if it no longer exists. */
  rowOf({ uuid, state, atMs, fireId, revision }: WordEntry): Timer | Ended | undefined {
    if (state !== "pending") {
      const ended = this.#lifeOf(uuid, { fireId, minRevision: revision })
      return ended?.life.state === state && ended.life.finishedAt === atMs ? ended : undefined
    }
    const timer = this.#pending.get(uuid)?.timer
    return timer?.fireId === fireId && timer.fireAt === atMs ? timer : undefined
  }

  #addWords({ namespace, uuid }: TimerKey, rows: ReadonlyArray<WordRow>): void {
    const { words } = this.index(namespace)
    for (const row of rows) {
      const at = wordKey(row.state, row.word)
      const list = words.get(at) ?? new SortedList<WordEntry>(byPlace)
      words.set(at, list)
      list.add({ ...row, uuid })
    }
  }

  #forgetWords({ namespace, uuid }: TimerKey, rows: ReadonlyArray<WordRow>): void {
    const { words } = this.index(namespace)
    for (const row of rows) {
      const at = wordKey(row.state, row.word)
      const list = words.get(at)
      list?.remove({ ...row, uuid })
      if (list?.size === 0) words.delete(at)
    }
  }

  #lastOf(uuid: Uuid): Ended | undefined {
    for (const ended of this.#ended.get(uuid)?.downFrom(() => false) ?? []) return ended
    return undefined
  }

  /** A cancel raises the revision of a life, so only lives with this revision or a higher one are searched. */
  #lifeOf(uuid: Uuid, { fireId, minRevision }: NamedLife): Ended | undefined {
    for (const ended of this.#ended.get(uuid)?.upFrom(({ life }) => life.revision >= minRevision) ?? []) {
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

const isInState = (there: Timer | undefined, expected: NonNullable<Expectation["pending"]>): boolean =>
  there?.fireId === expected.fireId &&
  there.attempts === expected.attempts &&
  there.revision === expected.revision &&
  there.askedAt === expected.askedAt

/** The timer with the payload of another one, or without a payload. */
const withPayload = (timer: Timer, from: Timer | undefined): Timer => {
  if (timer.payload === from?.payload) return timer
  const { payload: _, ...rest } = timer
  return from?.payload === undefined ? rest : { ...rest, payload: from.payload }
}

const withoutPayloads = ({ pending, last, lives }: Known): Known => ({
  pending: pending && stripped(pending),
  last: last && stripped(last),
  ...(lives === undefined ? {} : { lives: lives.map(stripped) }),
})

const stripped = <A extends { readonly payload?: Uint8Array }>({
  payload: _,
  ...rest
}: A): Omit<A, "payload"> => rest

const byDue = (a: Pending, b: Pending): number => compareDue(a.timer, b.timer)

const byPlace = (a: WordEntry, b: WordEntry): number =>
  compareDue({ fireAt: a.atMs, fireId: a.fireId }, { fireAt: b.atMs, fireId: b.fireId })

const byId = (a: Pending, b: Pending): number => compareUtf8(a.timer.timerId, b.timer.timerId)

const byTime = (a: Ended, b: Ended): number => a.life.finishedAt - b.life.finishedAt || a.entry - b.entry

const byRevision = (a: Ended, b: Ended): number => a.life.revision - b.life.revision || a.entry - b.entry

const byIdAndRevision = (a: Ended, b: Ended): number =>
  compareUtf8(a.life.timerId, b.life.timerId) || byRevision(a, b)
