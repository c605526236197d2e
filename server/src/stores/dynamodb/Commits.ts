// The writes of the storage. A commit is one transaction: it raises the number in the shard's fence under the condition
// that the epoch is the shard's and the number is new, and executes the changes. DynamoDB commits all or nothing and says
// which conditions failed. So what missed is left out, and the rest is sent again under the same number.
//
// Rows of the index of words are written before the commit and removed after it. A row that refers to nothing is
// harmless, because a scan checks what it finds.

import { CollectionSizes } from "@punctual/aws/CollectionSizes"
import type { DynamoExpression } from "@punctual/aws/DynamoExpression"
import { DynamoFailure } from "@punctual/aws/DynamoFailure"
import type { DynamoItem } from "@punctual/aws/DynamoItem"
import { itemUpdateOf, type PlainWrite, type TransactWrite } from "@punctual/aws/DynamoTables"
import { forAll } from "@punctual/aws/forAll"
import { type Tally, tallyOfAll } from "../../domain/Decision.ts"
import type { Timer, TimerKey } from "../../domain/Timer.ts"
import type { WordRow } from "../../domain/words.ts"
import type { Commit, CommitAnswer, Inserted, KeyChange } from "../../ports/ShardStorage.ts"
import { insertionsOf } from "../insertions.ts"
import type { NotedNames } from "../notedNames.ts"
import { sortedOut } from "../whyUnstorable.ts"
import { type ChangePlan, mustRead, planOf, type SeenKey } from "./changePlans.ts"
import { type Database, expiryOf } from "./Database.ts"
import { fencePlace, foreignPlace, insertedPlace, itemIdOf, keyPlace, lifePlace, wordKey } from "./keys.ts"
import { transactionBytes, transactionItems } from "./limits.ts"
import { lastLifeOf } from "./looks.ts"
import { notedNamesOf } from "./namespaceNames.ts"
import { whyItemRefused } from "./whyItemRefused.ts"

export class Commits {
  readonly #database: Database
  readonly #onWarning: (message: string) => void
  readonly #sizes = new CollectionSizes()
  /** The last entry number of each shard, by the epoch under which it was read. */
  readonly #entries = new Map<number, { readonly epoch: number; last: number }>()
  readonly #names: NotedNames

  constructor(database: Database, onWarning: (message: string) => void) {
    this.#database = database
    this.#onWarning = onWarning
    this.#names = notedNamesOf(database)
  }

  commitAll(commits: ReadonlyArray<Commit>): Promise<ReadonlyArray<CommitAnswer>> {
    return forAll(commits, (commit) => this.#commit(commit))
  }

  async #commit(commit: Commit): Promise<CommitAnswer> {
    const { shard, changes } = commit
    const full = this.#sizes.whyFull(shard)
    const { asked, refused } = sortedOut(
      changes,
      (change) => whyItemRefused(change) ?? (isNew(change) ? full : undefined),
    )
    const missed: Array<number> = []
    const entries = await this.#entriesOf(commit)
    const planned = await forAll(asked, async ({ change, index }) => {
      const seen = mustRead(change) ? await this.#see(shard, change) : undefined
      return (
        planOf(this.#database, shard, index, change, {
          seen,
          nextEntry: () => ++entries.last * entrySpread + shard,
        }) ?? index
      )
    })
    const plans: Array<ChangePlan> = []
    for (const plan of planned) typeof plan === "number" ? missed.push(plan) : plans.push(plan)
    await this.#prepare(plans)
    const answer = await this.#send(commit, plans, entries, missed)
    if (answer !== undefined) return { result: answer }
    const done = plans.filter(({ index }) => !missed.includes(index))
    await this.#writeWords(done, "removed")
    return { result: "committed", missed: missed.sort((a, b) => a - b), refused }
  }

  /** What must be known before the commit: the names of the namespaces and the rows of the index of words. */
  async #prepare(plans: ReadonlyArray<ChangePlan>): Promise<void> {
    const names = plans.map(({ change }) => change.key.namespace)
    await Promise.all([this.#names.note(names), this.#writeWords(plans, "added")])
  }

  async #writeWords(
    plans: ReadonlyArray<Pick<ChangePlan, "change">>,
    part: "added" | "removed",
  ): Promise<void> {
    const { tables, names } = this.#database
    const writes = plans.flatMap(({ change: { key, words } }): ReadonlyArray<PlainWrite> => {
      if (words === undefined) return []
      if (part === "added") return words.added.map((row) => ({ put: wordItem(this.#database, key, row) }))
      const added = new Set(words.added.map((row) => wordId(row)))
      return words.removed
        .filter((row) => !added.has(wordId(row)))
        .map((row) => ({ delete: wordKey(key, row) }))
    })
    await tables.writeAll(names.history, writes)
  }

  async #see(shard: number, { key, expects, removesLife }: KeyChange): Promise<SeenKey> {
    const { tables, names } = this.#database
    const [item, life, next] = await Promise.all([
      tables.get(keyPlace(names, shard, key)),
      expects.life === undefined ? undefined : tables.get(lifePlace(names, key.uuid, expects.life.fireId)),
      removesLife === true ? lastLifeOf(this.#database, key.uuid, expects.life?.fireId) : undefined,
    ])
    return { key: item, life, next }
  }

  /** Entry numbers of a shard grow. Only its owner gives them, so it counts in memory. */
  async #entriesOf({ shard, epoch, changes }: Commit): Promise<{ last: number }> {
    const known = this.#entries.get(shard)
    if (known?.epoch === epoch) return known
    if (changes.every(({ finished }) => finished === undefined)) return { last: 0 }
    const fence = await this.#database.tables.get(fencePlace(this.#database.names, shard))
    const entries = { epoch, last: Number(fence?.["entries"] ?? 0) }
    // Calls of an older epoch are refused, so they need not count on.
    if ((known?.epoch ?? -1) < epoch) this.#entries.set(shard, entries)
    return entries
  }

  /** Sends the plans until those that are left succeed. Returns why the whole commit is refused. */
  async #send(
    commit: Commit,
    plans: ReadonlyArray<ChangePlan>,
    entries: { readonly last: number },
    missed: Array<number>,
  ): Promise<"ownershipLost" | "overtaken" | undefined> {
    const { tables, names } = this.#database
    let left = fitting(plans, missed)
    for (;;) {
      const writes = [this.#fenceOf(commit, left, entries), ...left.flatMap(({ writes }) => writes)]
      try {
        const warning = this.#sizes.noted(names.timers, await tables.writeTogether(writes))
        if (warning !== undefined) this.#onWarning(warning)
        return undefined
      } catch (error) {
        if (!(error instanceof DynamoFailure) || !error.isConditional) throw error
        const [fence, ...rest] = error.reasons
        if (fence?.code === failed)
          return fence.item?.["epoch"] === commit.epoch ? "overtaken" : "ownershipLost"
        const remaining = withoutFailed(left, rest, missed)
        if (remaining.length === left.length) throw error
        left = remaining
      }
    }
  }

  #fenceOf(
    { shard, epoch, number }: Commit,
    plans: ReadonlyArray<ChangePlan>,
    entries: { last: number },
  ): TransactWrite {
    const isEnding = plans.some(({ change }) => change.finished !== undefined)
    const tally = tallyOfAll(plans.map(({ change }) => change))
    const update = {
      set: { number, ...(isEnding ? { entries: entries.last } : {}) },
      add: tallyAdded(tally),
    }
    const condition = (expression: DynamoExpression) =>
      `${expression.equals("epoch", epoch)} AND ${expression.name("number")} < ${expression.value(number)}`
    const place = fencePlace(this.#database.names, shard)
    return {
      Update: { ...itemUpdateOf(place, update, condition), ReturnValuesOnConditionCheckFailure: "ALL_OLD" },
    }
  }

  /** Stores the timers of unused keys, all in one transaction, and then tells the owner. */
  async insertNew(shard: number, timers: ReadonlyArray<Timer>): Promise<ReadonlyArray<Inserted>> {
    const { names, tables } = this.#database
    const full = this.#sizes.whyFull(shard)
    const { answers, asked } = insertionsOf(shard, timers, (change) => whyItemRefused(change) ?? full)
    const plans = asked.flatMap(
      ({ change, index }) =>
        planOf(this.#database, shard, index, change, { seen: undefined, nextEntry: () => 0 }) ?? [],
    )
    await this.#prepare(plans)
    let isStored = false
    for (let rest: ReadonlyArray<ChangePlan> = plans; rest.length > 0; ) {
      const overflow: Array<number> = []
      const stored = await this.#insert(shard, fitting(rest, overflow))
      for (const { index } of stored) answers[index] = "stored"
      isStored ||= stored.length > 0
      rest = rest.filter(({ index }) => overflow.includes(index))
    }
    if (isStored) await tables.update(foreignPlace(names), { add: { [`f${shard}`]: 1 } })
    return answers
  }

  async #insert(shard: number, plans: ReadonlyArray<ChangePlan>): Promise<ReadonlyArray<ChangePlan>> {
    const { names, tables } = this.#database
    for (let left = plans; left.length > 0; ) {
      const counted: TransactWrite = {
        Update: itemUpdateOf(insertedPlace(names, shard), { add: { created: left.length } }),
      }
      try {
        await tables.writeTogether([counted, ...left.flatMap(({ writes }) => writes)])
        return left
      } catch (error) {
        if (!(error instanceof DynamoFailure) || !error.isConditional) throw error
        left = withoutFailed(left, error.reasons.slice(1), [])
      }
    }
    return []
  }
}

const isNew = ({ pending, expects }: KeyChange): boolean => Boolean(pending) && expects.pending === null

const failed = "ConditionalCheckFailed"

/** Entry numbers of different shards differ, because lists compare them. There are fewer shards than this. */
const entrySpread = 512

const tallyAdded = (tally: Tally): Record<string, number> =>
  Object.fromEntries(Object.entries(tally).filter(([, count]) => count !== 0))

/** The plans that fit into one transaction with the fence. The others are answered as missed, and come again. */
const fitting = (plans: ReadonlyArray<ChangePlan>, missed: Array<number>): ReadonlyArray<ChangePlan> => {
  let [items, bytes] = [1, 0]
  return plans.filter((plan) => {
    const fits = items + plan.writes.length <= transactionItems && bytes + plan.bytes <= transactionBytes
    if (fits) {
      items += plan.writes.length
      bytes += plan.bytes
    } else missed.push(plan.index)
    return fits
  })
}

const withoutFailed = (
  plans: ReadonlyArray<ChangePlan>,
  reasons: ReadonlyArray<{ readonly code: string }>,
  missed: Array<number>,
): ReadonlyArray<ChangePlan> => {
  let next = 0
  return plans.filter(({ index, writes }) => {
    const own = reasons.slice(next, next + writes.length)
    next += writes.length
    const isMissed = own.some(({ code }) => code === failed)
    if (isMissed) missed.push(index)
    return !isMissed
  })
}

const wordId = ({ state, word, atMs, fireId }: WordRow): string => `${state} ${atMs} ${fireId} ${word}`

const wordItem = (database: Database, key: TimerKey, row: WordRow): DynamoItem => {
  const ttl =
    row.state === "pending" ? undefined : expiryOf(database, { state: row.state, finishedAt: row.atMs })
  return {
    ...wordKey(key, row),
    id: itemIdOf(key),
    revision: row.revision,
    ...(ttl === undefined ? {} : { ttl }),
  }
}
