// Commits to a shard: one conditional batch that checks the fence and every expectation, and changes everything or
// nothing. Before it, the bodies that it names are written. If it was not applied, the answer shows the rows as they
// are: changes whose expectations were not met are left out, and the rest is sent again under the same number.
//
// Most changes need only the batch: a create expects an unused key, and an outcome expects the pending row as it was
// fired. A change of a key's lives, and a change that expects a certain last life, may have to read the key first. Then
// the batch expects the row that was read. Every change of the lives of a key changes the stamp in its row.
import { addTallies } from "../../domain/Decision.ts"
import type { Commit, CommitAnswer, KeyChange } from "../../ports/ShardStorage.ts"
import { NotedNames } from "../notedNames.ts"
import { sortedOut } from "../whyUnstorable.ts"
import {
  batchStatements,
  bodyStatements,
  type CommitPlace,
  cleaningStatements,
  goneLife,
  holds,
  isQuick,
  type KeyCondition,
  quickCondition,
  readCondition,
  stampOf,
} from "./changeStatements.ts"
import type { Fence, Fences } from "./Fences.ts"
import type { KeyRows, Keys } from "./Keys.ts"
import { keyPlace, kinds } from "./places.ts"
import { noteNames } from "./Reader.ts"
import { bytesIn, numberIn } from "./rows.ts"
import type { BatchSession, Row, Statement, Value } from "./Session.ts"

/** A change of a commit, and what its row must be. */
interface Planned {
  readonly index: number
  readonly change: KeyChange
  readonly place: string
  condition: KeyCondition
  /** Present if the key was read. */
  read: KeyRows | undefined
  reads: number
}

/** How often a batch is sent for one commit, and how often the same key is read. */
const mostBatches = 10
const mostReads = 3

/** How many cleanings may be under way. */
const mostCleanings = 256

export class Commits {
  readonly #session: BatchSession
  readonly #fences: Fences
  readonly #keys: Keys
  readonly #lifeSeconds: number | undefined
  /** The last commit of each shard, because commits of one shard would only disturb each other. */
  readonly #turns = new Map<number, Promise<unknown>>()
  readonly #cleanings = new Set<Promise<unknown>>()
  readonly #names: NotedNames
  readonly #onCommitted: (changes: ReadonlyArray<KeyChange>) => void

  constructor(
    parts: { readonly session: BatchSession; readonly fences: Fences; readonly keys: Keys },
    lifeSeconds: number | undefined,
    onCommitted: (changes: ReadonlyArray<KeyChange>) => void,
  ) {
    this.#session = parts.session
    this.#fences = parts.fences
    this.#keys = parts.keys
    this.#lifeSeconds = lifeSeconds
    this.#onCommitted = onCommitted
    this.#names = new NotedNames((names) => noteNames(parts.session, names))
  }

  async commit(commit: Commit): Promise<CommitAnswer> {
    const before = this.#turns.get(commit.shard) ?? Promise.resolve()
    const turn = before.then(() => this.#commit(commit))
    const settled = turn.catch(() => {})
    this.#turns.set(commit.shard, settled)
    try {
      return await turn
    } catch (error) {
      // Its result is unknown, so the stored fence may be another one.
      this.#fences.forget(commit.shard)
      throw error
    } finally {
      if (this.#turns.get(commit.shard) === settled) this.#turns.delete(commit.shard)
    }
  }

  /** Waits for the cleanings that are under way. */
  async close(): Promise<void> {
    await Promise.all(this.#cleanings)
  }

  async #commit({ shard, epoch, number, changes }: Commit): Promise<CommitAnswer> {
    let fence = await this.#fences.of(shard)
    if (fence.epoch !== epoch || number <= fence.number) fence = await this.#fences.read(shard)
    if (fence.epoch !== epoch) return { result: "ownershipLost" }
    if (number <= fence.number) return { result: "overtaken" }
    const at = {
      store: this.#session.store,
      shard,
      stamp: stampOf(epoch, number),
      lifeSeconds: this.#lifeSeconds,
    }
    const { asked, refused } = sortedOut(changes)
    let planned: ReadonlyArray<Planned> = asked.map(({ change, index }) => plan(change, index))
    const missed: Array<number> = []
    const leave = (gone: ReadonlySet<Planned>) => {
      for (const { index } of gone) missed.push(index)
      planned = planned.filter((one) => !gone.has(one))
    }
    leave(await this.#read(planned.filter(({ change }) => !isQuick(change))))
    await this.#prepare(at, planned)
    for (let batches = 0; batches < mostBatches; batches++) {
      const bound = await this.#fences.bound(shard)
      bound.began(
        number,
        Math.min(...planned.map(({ change }) => change.pending?.fireAt ?? Number.MAX_SAFE_INTEGER)),
      )
      const { statements, next } = this.#batch(at, fence, { epoch, number, low: bound.low }, planned)
      const rows = await this.#session.batch(statements, { isConditional: true })
      if (rows === undefined) {
        this.#fences.accepted(shard, next)
        const done = planned.map(({ change }) => change)
        this.#onCommitted(done)
        await this.#clean(at, planned)
        return { result: "committed", missed: missed.sort((a, b) => a - b), refused }
      }
      const found = await this.#fenceIn(rows, shard)
      if (found.epoch !== epoch) {
        this.#fences.forget(shard)
        return { result: "ownershipLost" }
      }
      if (found.number >= number) return { result: "overtaken" }
      if (found.number !== fence.number) fence = await this.#fences.read(shard)
      else leave(await this.#readAgain(planned, rows))
    }
    throw new Error("the shard changed again and again during a commit")
  }

  /** Reads the keys of changes. Returns those whose expectations are not met. */
  async #read(planned: ReadonlyArray<Planned>): Promise<ReadonlySet<Planned>> {
    const gone = new Set<Planned>()
    await Promise.all(
      planned.map(async (one) => {
        const read = await this.#keys.everything(one.change.key)
        one.read = read
        one.condition = readCondition(read)
        if (++one.reads > mostReads || !holds(one.change, read)) gone.add(one)
      }),
    )
    return gone
  }

  /** A row that differs may still be what its change expects: an expired life is no life. */
  async #readAgain(planned: ReadonlyArray<Planned>, rows: ReadonlyArray<Row>): Promise<ReadonlySet<Planned>> {
    const found = new Map(
      rows
        .filter((row) => row["kind"] === kinds.key)
        .map((row) => [bytesIn(row, "place").toString("hex"), row]),
    )
    const failed = planned.filter(({ place, condition }) => !isMet(condition, found.get(place) ?? {}))
    if (failed.length === 0) throw new Error("a batch was not applied, although all its conditions are met")
    const canHold = (one: Planned) =>
      one.read !== undefined ||
      (one.change.expects.last !== undefined && (found.get(one.place)?.["state"] ?? null) === null)
    const gone = await this.#read(failed.filter(canHold))
    return new Set([...failed.filter((one) => !canHold(one)), ...gone])
  }

  async #fenceIn([row]: ReadonlyArray<Row>, shard: number): Promise<Pick<Fence, "epoch" | "number">> {
    if (row === undefined || row["epoch"] === undefined || row["epoch"] === null)
      return this.#fences.read(shard)
    return { epoch: numberIn(row, "epoch"), number: numberIn(row, "number") }
  }

  #batch(
    at: CommitPlace,
    fence: Fence,
    { epoch, number, low }: { readonly epoch: number; readonly number: number; readonly low: number },
    planned: ReadonlyArray<Planned>,
  ): { readonly statements: ReadonlyArray<Statement>; readonly next: Fence } {
    let { tally } = fence
    const statements: Array<Statement> = []
    for (const { change, condition, read } of planned) {
      statements.push(...batchStatements(at, change, condition, read))
      tally = addTallies(tally, change.tally)
    }
    const next: Fence = { epoch, number, tally }
    const fenced: Statement = {
      query:
        "UPDATE shards SET number = ?, low = ?, tally = ? WHERE store = ? AND shard = ? IF epoch = ? AND number = ?",
      params: [
        BigInt(number),
        BigInt(low),
        JSON.stringify(tally),
        at.store,
        at.shard,
        BigInt(epoch),
        BigInt(fence.number),
      ],
    }
    return { statements: [fenced, ...statements], next }
  }

  /** What the commit names must be there before it. */
  async #prepare(at: CommitPlace, planned: ReadonlyArray<Planned>): Promise<void> {
    await Promise.all([
      this.#names.note(planned.map(({ change }) => change.key.namespace)),
      ...planned.map(async ({ change }) => {
        const statements = bodyStatements(at, change)
        const [only] = statements
        if (statements.length > 1) await this.#session.batch(statements)
        else if (only !== undefined) await this.#session.rows(only.query, only.params)
      }),
    ])
  }

  /** Nothing waits for it: what stays after a crash is never read, and the next change of the key removes it. */
  async #clean(at: CommitPlace, planned: ReadonlyArray<Planned>): Promise<void> {
    const statements = planned.flatMap(({ change, read }) =>
      cleaningStatements(at, change, goneLife(change, read)),
    )
    for (const statement of statements) {
      if (this.#cleanings.size >= mostCleanings) await Promise.race(this.#cleanings)
      const cleaning: Promise<unknown> = this.#session
        .rows(statement.query, statement.params)
        .catch(() => {})
        .finally(() => this.#cleanings.delete(cleaning))
      this.#cleanings.add(cleaning)
    }
  }
}

const plan = (change: KeyChange, index: number): Planned => ({
  index,
  change,
  place: keyPlace(change.key).toString("hex"),
  condition: quickCondition(change),
  read: undefined,
  reads: 0,
})

const isMet = (condition: KeyCondition, row: Row): boolean =>
  Object.entries(condition).every(
    ([column, expected]) => (row[column] ?? null) === (expected satisfies Value),
  )
