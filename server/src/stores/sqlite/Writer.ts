// The one connection that writes. Each call is a transaction that takes the write lock before it
// reads, so a claim by another process commits before the fence is checked or after the commit, never
// between. It reads what is under a key, lets domain/decide.ts decide, and carries the decision out
// with prepared statements.
import type { Database, Statement } from "bun:sqlite"
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
import type { FinishedLife, Timer, TimerKey } from "../../domain/Timer.ts"
import {
  type InsertAnswer,
  itemBytes,
  keyOfItem,
  type NamedDead,
  type Put,
  type WriteAnswer,
  type WriteItem,
} from "../../domain/WriteItem.ts"
import type { ShardBatch } from "../../ports/TimerStore.ts"
import { textOfLog } from "../AttemptLogText.ts"
import { textOfSpec } from "../SpecText.ts"
import { describe, isOfItem } from "./failures.ts"
import { limits } from "./limits.ts"
import { changingValues, type LifeRow, lifeOf, lifeValues, type TimerRow, timerOf } from "./rows.ts"
import { writerSql } from "./statements.ts"
import type { Applied, AppliedBatch } from "./writeWire.ts"

type Statements = { readonly [name in keyof typeof writerSql]: Statement }

/** A pending timer and where its rows are. */
interface Stored {
  readonly id: number
  readonly spec: string
  readonly timer: Timer
}

interface Decided {
  readonly decision: Decision<InsertAnswer>
  readonly stored: Stored | undefined
  /** The entry of history that the decision corrects. */
  readonly corrected?: LifeRow | undefined
  /** The dead letter that the decision is about. */
  readonly dead?: DeadLetter | undefined
}

interface DeadLetter {
  readonly id: number
  readonly life: FinishedLife
}

/** Lives of many shards end in nearly, not exactly, the order of their instants. */
const prunedAround = 1_000

type MutableTally = { -readonly [name in keyof Tally]: number }

interface AppliedItem {
  readonly answer: InsertAnswer
  readonly isApplied: boolean
}

type Apply = (shard: number, item: WriteItem, tally: MutableTally) => AppliedItem

/** How an item is decided when something is known of its key. */
type Decide = (item: WriteItem) => Decided

export class Writer {
  readonly #database: Database
  readonly #sql: Statements
  /** How far pruning has looked, beside the oldest entries; see `prune`. */
  #prunedUpTo = 0
  /**
   * By shard, the last write that was taken. All calls of a process go through this thread in the order in which
   * they were made, so that none is ever overtaken, and only one process writes under an epoch: it need not be stored.
   */
  readonly #lastWrites = new Map<number, Pick<ShardBatch, "epoch" | "number">>()

  constructor(database: Database) {
    this.#database = database
    // `Object.fromEntries` forgets its keys.
    this.#sql = Object.fromEntries(
      Object.entries(writerSql).map(([name, sql]) => [name, database.prepare(sql)]),
    ) as unknown as Statements
  }

  write(batches: ReadonlyArray<ShardBatch>): ReadonlyArray<AppliedBatch> {
    const done = this.#applying(this.#decide, (apply) =>
      batches.map((batch) => {
        const row = this.#sql.epoch.get(batch.shard) as { epoch: number } | null
        if (row?.epoch !== batch.epoch) return "ownershipLost"
        const last = this.#lastWrites.get(batch.shard)
        if (last?.epoch === batch.epoch && batch.number <= last.number) return "overtaken"
        return this.#batch(batch.shard, batch.items, apply)
      }),
    )
    for (const [index, { shard, epoch, number }] of batches.entries()) {
      if (typeof done[index] === "object") this.#lastWrites.set(shard, { epoch, number })
    }
    return done
  }

  insertIfAbsent(shard: number, puts: ReadonlyArray<Put>): AppliedBatch {
    return this.#applying(this.#decideInsert, (apply) => {
      const done = this.#batch(shard, puts, apply)
      if (done.applied.includes(true)) this.#sql.foreign.run(shard)
      return done
    })
  }

  /**
   * Looks at the oldest entries, and at as many more further on, each call where the last one ended:
   * entries from a clock that ran ahead hold up neither the call nor what lies behind them.
   */
  prune(exclusiveBeforeMs: number, limit: number): number {
    const examined = limit + prunedAround
    return this.transaction(() => {
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
    this.#database.run("BEGIN IMMEDIATE")
    try {
      const result = body()
      this.#database.run("COMMIT")
      return result
    } catch (error) {
      if (this.#database.inTransaction) this.#database.run("ROLLBACK")
      throw error
    }
  }

  /**
   * Without savepoints, which would copy every page that is touched; if an item turns out to be
   * faulty, all of it again from the start, with each item alone.
   */
  #applying<A>(decide: Decide, body: (apply: Apply) => A): A {
    const apply: Apply = (shard, item, tally) => this.#apply(shard, item, tally, decide)
    try {
      return this.transaction(() => body(apply))
    } catch (error) {
      if (!isOfItem(error)) throw error
      return this.transaction(() =>
        body((shard, item, tally) => this.#alone(() => apply(shard, item, tally))),
      )
    }
  }

  #batch(shard: number, items: ReadonlyArray<WriteItem>, apply: Apply): Applied {
    const tally: MutableTally = { ...emptyTally }
    const answers: Array<InsertAnswer> = []
    const applied: Array<boolean> = []
    for (const item of items) {
      const { answer, isApplied } = apply(shard, item, tally)
      answers.push(answer)
      applied.push(isApplied && isStoredAsSent(item, answer))
    }
    this.#addTally(shard, tally)
    return { answers, applied }
  }

  #alone(apply: () => AppliedItem): AppliedItem {
    this.#database.run("SAVEPOINT item")
    try {
      return apply()
    } catch (error) {
      if (!isOfItem(error)) throw error
      this.#database.run("ROLLBACK TO item")
      return { answer: { result: "unstorable", reason: describe(error) }, isApplied: false }
    } finally {
      if (this.#database.inTransaction) this.#database.run("RELEASE item")
    }
  }

  #apply(shard: number, item: WriteItem, tally: MutableTally, decide: Decide): AppliedItem {
    const bytes = itemBytes(item)
    if (bytes > limits.itemBytes) {
      const reason = `The item has ${bytes} bytes; this store holds at most ${limits.itemBytes}.`
      return { answer: { result: "unstorable", reason }, isApplied: false }
    }
    const decision =
      this.#createNew(shard, item) ??
      this.#deliver(item) ??
      this.#carryOut(shard, keyOfItem(item), decide(item))
    for (const name in decision.tally) {
      const of = name as keyof Tally
      tally[of] += decision.tally[of] ?? 0
    }
    return { answer: decision.answer, isApplied: decision.pending !== undefined }
  }

  /** A timer of a key of which nothing is known; nothing, and nothing done, if something is. */
  #createNew(shard: number, item: WriteItem): Decision<WriteAnswer> | undefined {
    if (item.kind !== "put" && item.kind !== "schedule") return undefined
    const decision = item.kind === "put" ? decidePut(item, nothing) : decideSchedule(item, nothing)
    const { pending } = decision
    if (!pending || !this.#insert(this.#sql.insertNewTimer, shard, item.timer, pending)) return undefined
    return decision
  }

  /**
   * What nearly every outcome is: the attempt of what is pending has delivered it. As `decideOutcome` has it, but its
   * row becomes one of history without being read. Nothing, and nothing done, if it is not so.
   */
  #deliver(item: WriteItem): Decision<WriteAnswer> | undefined {
    if (item.kind !== "outcome" || item.then.to !== "delivered") return undefined
    const { key, fireId, attempt, at, attemptLog, then } = item
    if (attemptLog === undefined || attemptLog.length === 0) return undefined
    const arming = [key.namespace, key.timerId, fireId, attempt - 1] as const
    const row = this.#sql.attempted.get(...arming) as { id: number } | null
    if (row === null) return undefined
    this.#sql.insertDelivered.run(row.id, attempt, textOfLog(attemptLog), at, then.latenessMs)
    this.#remove(row.id)
    return { answer: { result: "settled" }, pending: null, tally: { delivered: 1 } }
  }

  /** Only puts are inserted. */
  readonly #decideInsert: Decide = (item) => {
    if (item.kind !== "put") return this.#decide(item)
    const known = this.#known(item.timer, true)
    return { decision: decideInsert(item, known), stored: known.stored }
  }

  readonly #decide: Decide = (item) => {
    switch (item.kind) {
      case "put": {
        const known = this.#known(item.timer, true)
        return { decision: decidePut(item, known), stored: known.stored }
      }
      case "change": {
        // Only a marked repeat asks what has ended: others are spared the look.
        const known = item.isRepeat ? this.#known(item.key, true) : this.#pendingOnly(item.key)
        return { decision: decideChange(item, known), stored: known.stored }
      }
      case "schedule": {
        const known = this.#known(item.timer, true)
        return { decision: decideSchedule(item, known), stored: known.stored }
      }
      case "cancel": {
        const known = this.#known(item.key, false)
        return { decision: decideCancel(item, known), stored: known.stored }
      }
      case "outcome": {
        // The last life matters only if this outcome does not match what is pending.
        const stored = this.#stored(item.key, item.then.to !== "delivered")
        const isCurrent =
          stored !== undefined &&
          stored.timer.fireId === item.fireId &&
          stored.timer.attempts === item.attempt - 1
        const last = isCurrent ? undefined : this.#known(item.key, false).last
        return { decision: decideOutcome(item, { pending: stored?.timer, last }), stored }
      }
      case "record": {
        const { life } = item
        const arming = [life.namespace, life.timerId, life.revision, life.fireId] as const
        const ended = this.#sql.endedArming.get(...arming) as LifeRow | null
        const prior = ended ?? (this.#sql.deadArming.get(...arming) as LifeRow | null)
        const decision = decideRecord(item, prior === null ? undefined : lifeOf(prior))
        return { decision, stored: undefined, corrected: ended ?? undefined }
      }
      case "replay": {
        const known = this.#known(item.key, true)
        const dead = this.#deadLetter(item)
        return { decision: decideReplay(item, known, dead?.life), stored: known.stored, dead }
      }
      case "discard": {
        const dead = this.#deadLetter(item)
        return { decision: decideDiscard(item, dead?.life), stored: undefined, dead }
      }
    }
  }

  #known(key: TimerKey, withPayload: boolean): Known & { readonly stored: Stored | undefined } {
    const found = this.#sql.probe.get(key.namespace, key.timerId) as {
      pending: number | null
      ended: number | null
      dead: number | null
    }
    const stored = found.pending === null ? undefined : this.#stored(key, withPayload)
    if (found.ended === null && found.dead === null)
      return { stored, pending: stored?.timer, last: undefined }
    const revision = Math.max(found.ended ?? -1, found.dead ?? -1)
    const select = revision === found.dead ? this.#sql.deadLife : this.#sql.endedLife
    const row = select.get(key.namespace, key.timerId, revision) as LifeRow | null
    return { stored, pending: stored?.timer, last: row === null ? undefined : lifeOf(row) }
  }

  #deadLetter({ key, deadRevision, deadFireId }: NamedDead): DeadLetter | undefined {
    const named = [key.namespace, key.timerId, deadRevision, deadFireId] as const
    const row = this.#sql.deadLetter.get(...named) as LifeRow | null
    return row === null ? undefined : { id: row.id, life: lifeOf(row) }
  }

  #pendingOnly(key: TimerKey): Known & { readonly stored: Stored | undefined } {
    const stored = this.#stored(key, true)
    return { stored, pending: stored?.timer, last: undefined }
  }

  #stored(key: TimerKey, withPayload: boolean): Stored | undefined {
    const row = this.#sql.head.get(key.namespace, key.timerId) as TimerRow | null
    if (row === null) return undefined
    const body = (withPayload ? this.#sql.body : this.#sql.spec).get(row.id) as {
      spec: string
      payload?: Uint8Array | null
    }
    return { id: row.id, spec: body.spec, timer: timerOf(key, row, body.spec, body.payload) }
  }

  #carryOut(shard: number, key: TimerKey, decided: Decided): Decision<InsertAnswer> {
    const { decision, stored, corrected, dead } = decided
    if (decision.pending === null) {
      if (stored !== undefined) this.#remove(stored.id)
    } else if (decision.pending !== undefined) {
      if (stored === undefined) this.#insert(this.#sql.insertTimer, shard, key, decision.pending)
      else this.#update(stored, decision.pending, decision.payloadChanged === true)
    }
    if (decision.removesDead !== undefined && dead !== undefined) this.#sql.deleteDead.run(dead.id)
    if (decision.finished === undefined) return decision
    // A corrected entry keeps its number, so that it keeps its place among lives of the same instant.
    const entry = decision.corrects === true ? corrected?.id : undefined
    if (entry !== undefined) this.#sql.deleteEnded.run(entry)
    this.#finish(decision.finished, entry)
    return decision
  }

  /** Whether the statement inserted it. */
  #insert(statement: Statement, shard: number, key: TimerKey, timer: Timer): boolean {
    const { changes } = statement.run(shard, key.uuid, key.namespace, key.timerId, ...changingValues(timer))
    if (changes === 0) return false
    this.#sql.insertBody.run(textOfSpec(timer.spec), timer.payload ?? null)
    return true
  }

  #update({ id, spec }: Stored, timer: Timer, isPayloadChanged: boolean): void {
    this.#sql.updateTimer.run(id, ...changingValues(timer))
    const text = textOfSpec(timer.spec)
    if (isPayloadChanged) this.#sql.updateBody.run(id, text, timer.payload ?? null)
    else if (text !== spec) this.#sql.updateSpec.run(id, text)
  }

  #remove(id: number): void {
    this.#sql.deleteTimer.run(id)
    this.#sql.deleteBody.run(id)
  }

  #finish(life: FinishedLife, entry: number | undefined): void {
    const values = lifeValues(life)
    if (life.state === "dead") this.#sql.insertDead.run(...values, life.reason ?? null, life.payload ?? null)
    else this.#sql.insertEnded.run(...values, life.state, entry ?? null)
  }

  #addTally(shard: number, tally: Tally): void {
    const { created, rearmed, replayed, delivered, cancelled, replaced, dead, discarded } = tally
    if (created || rearmed || replayed || delivered || cancelled || replaced || dead || discarded) {
      this.#sql.tally.run(shard, created, rearmed, replayed, delivered, cancelled, replaced, dead, discarded)
    }
  }
}

const nothing: Known = { pending: undefined, last: undefined }

/** Whether an applied item's own timer is what is pending now, but for its revision and its creation time. */
const isStoredAsSent = (item: WriteItem, answer: InsertAnswer): boolean =>
  item.kind === "put" || (item.kind === "schedule" && answer.result === "created")
