// The only writing connection. Each call is a transaction that takes the write lock before it reads. So a claim by
// another process commits either before the fence is checked or after the commit, never in between. A write runs its
// steps (stores/Deciding.ts) inside one transaction. No matter how many looks and commits it needs, it costs one fsync.
import type { Database, Statement } from "bun:sqlite"
import { emptyTally, type Tally } from "../../domain/Decision.ts"
import type { FinishedLife, Timer, TimerKey } from "../../domain/Timer.ts"
import type { Put } from "../../domain/WriteItem.ts"
import type { WordChange } from "../../domain/words.ts"
import type { Commit, CommitAnswer, Expectation, Inserted, KeyChange } from "../../ports/ShardStorage.ts"
import type { ShardBatch } from "../../ports/TimerStore.ts"
import { Deciding, WriteMemory } from "../Deciding.ts"
import { Inserting } from "../Inserting.ts"
import { wordsOfNew } from "../keyChangeOf.ts"
import { textOfSpec } from "../SpecText.ts"
import { describe, isOfItem } from "./failures.ts"
import type { Lookup } from "./Lookup.ts"
import type { Place } from "./level0/Move.ts"
import type { WriterOrders } from "./level0/WriterOrders.ts"
import { limits } from "./limits.ts"
import { prepareAll } from "./prepareAll.ts"
import { changingValues, type LifeRow, lifeValues } from "./rows.ts"
import { writerSql } from "./statements.ts"
import { writeTransaction } from "./writeTransaction.ts"

type MutableTally = { -readonly [name in keyof Tally]: number }

/**
 * How many entries beyond the limit a prune examines, because they are only roughly in the order in which they ended.
 */
const prunedAround = 1_000

/** A life has at most 10 tags and a correlation id. */
const wordsALife = 11

/** Executes one change: `stored`, `missed`, or the reason why SQLite refused it. */
type Apply = (shard: number, change: KeyChange) => Inserted

export class Writer {
  readonly #database: Database
  readonly #orders: WriterOrders
  readonly #lookup: Lookup
  readonly #sql: { readonly [name in keyof typeof writerSql]: Statement }
  readonly #memory = new WriteMemory()
  /** How far pruning has looked, apart from the oldest entries; see `prune`. */
  #prunedUpTo = 0
  /**
   * The last accepted commit of each shard. It need not be stored: all calls of a process pass this thread in the order
   * in which they were made, so none is overtaken, and only one process writes under an epoch.
   */
  readonly #lastCommits = new Map<number, Pick<Commit, "epoch" | "number">>()
  /** The commits of the open transaction. They count once it is committed. */
  #accepted: Array<Pick<Commit, "shard" | "epoch" | "number">> = []

  constructor(orders: WriterOrders, lookup: Lookup) {
    this.#database = orders.database
    this.#orders = orders
    this.#lookup = lookup
    this.#sql = prepareAll(orders.database, writerSql)
  }

  /** The returned object contains the answers. */
  write(batches: ReadonlyArray<ShardBatch>): Deciding {
    return this.#carrying((apply) => {
      const deciding = new Deciding(batches, this.#memory, limits)
      for (;;) {
        const step = deciding.step()
        if (step.kind === "done") return deciding
        if (step.kind === "look") deciding.looked(step.looks.map((look) => this.#lookup.look(look)))
        else deciding.committed(step.commits.map((commit) => this.#commit(commit, apply)))
      }
    })
  }

  insertIfAbsent(shard: number, puts: ReadonlyArray<Put>): Inserting {
    return this.#carrying((apply) => {
      const inserting = new Inserting(puts, limits.itemBytes)
      for (;;) {
        const step = inserting.step()
        if (step.kind === "done") return inserting
        if (step.kind === "look") inserting.looked(step.looks.map((look) => this.#lookup.look(look)))
        else inserting.inserted(this.#insertNew(shard, step.timers, apply))
      }
    })
  }

  commit(commits: ReadonlyArray<Commit>): ReadonlyArray<CommitAnswer> {
    return this.#carrying((apply) => commits.map((commit) => this.#commit(commit, apply)))
  }

  insertNew(shard: number, timers: ReadonlyArray<Timer>): ReadonlyArray<Inserted> {
    return this.#carrying((apply) => this.#insertNew(shard, timers, apply))
  }

  /**
   * Looks at the oldest entries, and at as many more further on, where the last call ended. So entries from a clock
   * that ran ahead block neither the call nor the entries behind them.
   */
  prune(exclusiveBeforeMs: number, limit: number): number {
    const examined = limit + prunedAround
    return this.transaction(() => {
      this.#sql.pruneWords.run(exclusiveBeforeMs, wordsALife * limit)
      const oldest = this.#sql.prune.run(exclusiveBeforeMs, 0, examined, limit).changes
      const left = limit - oldest
      if (left === 0) return limit
      const further = this.#sql.prune.run(exclusiveBeforeMs, this.#prunedUpTo, examined, left).changes
      if (further < left) {
        const end = this.#sql.pruneEnd.get(this.#prunedUpTo, examined - 1) as { id: number } | null
        this.#prunedUpTo = end?.id ?? 0
      }
      return oldest + further
    })
  }

  transaction<A>(body: () => A): A {
    return writeTransaction(this.#database, body)
  }

  /** A transaction that knows all of the journal, and in the end writes its own moves into it. */
  #onOrders<A>(body: () => A): A {
    return this.#orders.keeping(() =>
      this.transaction(() => {
        this.#orders.follow()
        const result = body()
        this.#orders.writeJournal()
        return result
      }),
    )
  }

  /**
   * Runs in a transaction without savepoints, which would copy every touched page. If a change turns out to be invalid,
   * everything is repeated from the start, with a savepoint for each change.
   */
  #carrying<A>(body: (apply: Apply) => A): A {
    const apply: Apply = (shard, change) => {
      if (!this.#apply(shard, change)) return "missed"
      if (change.words !== undefined) this.#changeWords(change.key, change.words)
      return "stored"
    }
    try {
      return this.#accepting(() => body(apply))
    } catch (error) {
      if (!isOfItem(error)) throw error
      return this.#accepting(() => body((shard, change) => this.#alone(() => apply(shard, change))))
    }
  }

  #accepting<A>(body: () => A): A {
    this.#accepted = []
    const result = this.#onOrders(body)
    for (const { shard, epoch, number } of this.#accepted) this.#lastCommits.set(shard, { epoch, number })
    return result
  }

  #alone(apply: () => Inserted): Inserted {
    this.#database.run("SAVEPOINT change")
    const mark = this.#orders.mark
    try {
      return apply()
    } catch (error) {
      if (!isOfItem(error)) throw error
      this.#database.run("ROLLBACK TO change")
      this.#orders.undoTo(mark)
      return { refused: describe(error) }
    } finally {
      if (this.#database.inTransaction) this.#database.run("RELEASE change")
    }
  }

  #commit({ shard, epoch, number, changes }: Commit, apply: Apply): CommitAnswer {
    const row = this.#sql.epoch.get(shard) as { epoch: number } | null
    if (row?.epoch !== epoch) return { result: "ownershipLost" }
    const last = this.#lastCommits.get(shard)
    if (last?.epoch === epoch && number <= last.number) return { result: "overtaken" }
    this.#accepted.push({ shard, epoch, number })
    const missed: Array<number> = []
    const refused: Array<{ readonly index: number; readonly reason: string }> = []
    const tally: MutableTally = { ...emptyTally }
    for (let index = 0; index < changes.length; index++) {
      const change = changes[index]
      if (change === undefined) continue
      const result = apply(shard, change)
      if (result === "stored") count(tally, change.tally)
      else if (result === "missed") missed.push(index)
      else refused.push({ index, reason: result.refused })
    }
    this.#addTally(shard, tally)
    return { result: "committed", missed, refused }
  }

  #insertNew(shard: number, timers: ReadonlyArray<Timer>, apply: Apply): ReadonlyArray<Inserted> {
    const inserted = timers.map((timer) => apply(shard, newTimer(timer)))
    const created = inserted.filter((result) => result === "stored").length
    if (created > 0) {
      this.#sql.foreign.run(shard)
      this.#addTally(shard, { ...emptyTally, created })
    }
    return inserted
  }

  /** Returns false and does nothing if the change expects another state. */
  #apply(shard: number, change: KeyChange): boolean {
    const { expects, pending, finished } = change
    const life = this.#lifeExpected(change)
    if (life === "missed") return false
    if (expects.pending) {
      const row = this.#rowInState(change)
      if (row === undefined) return false
      const { id, shard: rowShard, fire_at: fireAt } = row
      const from = { fireAt, fireId: expects.pending.fireId }
      if (pending === null) this.#remove(id)
      else if (pending !== undefined) this.#update(id, change, pending)
      if (pending !== undefined && hasMoved(from, pending)) {
        this.#orders.move({
          id,
          shard: rowShard,
          key: keyIn(change.key),
          from,
          to: pending === null ? undefined : placeOf(pending),
        })
      }
    } else if (pending) {
      if (!this.#insert(shard, change, pending)) return false
    } else if (expects.pending === null && !this.#hasNoRow(change)) return false
    if (life !== undefined && change.removesLife) this.#sql.deleteDead.run(life.id)
    if (finished === undefined) return true
    // A corrected entry keeps its number, so that it keeps its position among lives of the same instant.
    if (life !== undefined) this.#sql.deleteEnded.run(life.id)
    this.#finish(finished, life?.id)
    return true
  }

  #lifeExpected({ key, expects: { life } }: KeyChange): LifeRow | undefined | "missed" {
    if (life === undefined) return undefined
    const row = this.#lookup.lifeRow(key, life)
    return (row?.state ?? null) === life.state ? row : "missed"
  }

  #rowInState({ key, expects: { pending } }: KeyChange): RowInState | undefined {
    if (!pending) return undefined
    const id = this.#lookup.pendingId(key)
    if (id === undefined) return undefined
    const { fireId, attempts, revision, askedAt = null } = pending
    return (this.#sql.inState.get(id, fireId, attempts, revision, askedAt) as RowInState | null) ?? undefined
  }

  /** Whether the key has no pending row, and its last life is the expected one. */
  #hasNoRow({ key, expects: { last } }: KeyChange): boolean {
    const known = this.#lookup.look({ key, withPayload: false })
    return known.pending === undefined && (last === undefined || (known.last?.fireId ?? null) === last)
  }

  /** Whether the key was in the expected state, so that the timer was inserted. */
  #insert(shard: number, change: KeyChange, timer: Timer): boolean {
    const { key, expects } = change
    const isOfUnusedKey = expects.last === null
    if (!isOfUnusedKey && !this.#hasNoRow(change)) return false
    const moved = this.#orders.movedIdOf(key)
    if (typeof moved === "number") return false
    if (moved === undefined && isOfUnusedKey && this.#orders.runs.idOf(key) !== undefined) return false
    const statement = !isOfUnusedKey
      ? this.#sql.insertTimer
      : moved === null
        ? this.#sql.insertTimerWithoutLives
        : this.#sql.insertNewTimer
    const id = this.#orders.newId()
    const { changes } = statement.run(
      id,
      shard,
      key.uuid,
      key.namespace,
      key.timerId,
      ...changingValues(timer),
    )
    if (changes === 0) return false
    this.#sql.insertBody.run(id, textOfSpec(timer.spec), timer.payload ?? null)
    this.#orders.move({ id, shard, key: keyIn(key), from: undefined, to: placeOf(timer) })
    return true
  }

  #update(id: number, { keepsSpec, payload }: KeyChange, timer: Timer): void {
    this.#sql.updateTimer.run(id, ...changingValues(timer))
    if (payload === "write") this.#sql.updateBody.run(id, textOfSpec(timer.spec), timer.payload ?? null)
    else if (keepsSpec !== true) this.#sql.updateSpec.run(id, textOfSpec(timer.spec))
  }

  #remove(id: number): void {
    this.#sql.deleteTimer.run(id)
    this.#sql.deleteBody.run(id)
  }

  #finish(life: FinishedLife, entry: number | undefined): void {
    const values = lifeValues(life)
    if (life.state === "dead") this.#sql.insertDead.run(...values, life.reason ?? null, life.payload ?? null)
    else this.#sql.insertEnded.run(...values, life.state, entry ?? null, life.reason ?? null)
  }

  #changeWords({ namespace, timerId }: TimerKey, { removed, added }: WordChange): void {
    for (const { word, state, atMs, fireId } of removed) {
      this.#sql.deleteWord.run(namespace, word, state, atMs, fireId)
    }
    for (const { word, state, atMs, fireId, revision } of added) {
      this.#sql.insertWord.run(namespace, timerId, word, state, atMs, fireId, revision)
    }
  }

  #addTally(shard: number, tally: Tally): void {
    const { created, rearmed, replayed, delivered, cancelled, replaced, dead, discarded } = tally
    if (created || rearmed || replayed || delivered || cancelled || replaced || dead || discarded) {
      this.#sql.tally.run(shard, created, rearmed, replayed, delivered, cancelled, replaced, dead, discarded)
    }
  }
}

const count = (tally: MutableTally, of: KeyChange["tally"]): void => {
  for (const name in of) {
    const counted = name as keyof Tally
    tally[counted] += of[counted] ?? 0
  }
}

interface RowInState {
  readonly id: number
  readonly shard: number
  readonly fire_at: number
}

const placeOf = ({ fireAt, fireId }: Timer): Place => ({ fireAt, fireId })

const hasMoved = (from: Place, to: Timer | null): boolean =>
  to === null || to.fireAt !== from.fireAt || to.fireId !== from.fireId

/** Only the key: the given one may be a timer with its payload, and a layer would keep that in memory. */
const keyIn = ({ namespace, timerId, uuid }: TimerKey): TimerKey => ({ namespace, timerId, uuid })

const unusedKey: Expectation = { pending: null, last: null }

const newTimer = (timer: Timer): KeyChange => ({
  key: timer,
  expects: unusedKey,
  pending: timer,
  payload: "write",
  ...wordsOfNew(timer),
  tally: {},
})
