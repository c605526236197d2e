// The reading connection, in a thread of its own. A read sees the last commit before it, and waits for none. Pages are
// returned as packs, written directly from the rows. Lists and counts run in slices, so that reads of due timers do not
// wait for all of their statements.
import type { Database, Statement } from "bun:sqlite"
import type { Buckets } from "../../domain/bucketOf.ts"
import { emptyTally, type Known, type Tally } from "../../domain/Decision.ts"
import type { TimerKey } from "../../domain/Timer.ts"
import type { NamedLife } from "../../domain/WriteItem.ts"
import { duePageBytes } from "../../ports/duePageBytes.ts"
import type { Look, Scan, ScannedHead } from "../../ports/ShardStorage.ts"
import type {
  Counted,
  CountedBuckets,
  CountQuery,
  DueQuery,
  HistogramQuery,
  ListFilter,
  ListQuery,
} from "../../ports/TimerStore.ts"
import { CountWalk } from "../CountWalk.ts"
import { HistogramWalk } from "../HistogramWalk.ts"
import type { WalkPlace } from "../ListLane.ts"
import { wordOf } from "../ListOrder.ts"
import { ListWalk } from "../ListWalk.ts"
import type { DuePack, WalkedPack } from "./calls.ts"
import type { Lookup } from "./Lookup.ts"
import type { ReaderOrders } from "./level0/ReaderOrders.ts"
import { readNames } from "./namespaceNames.ts"
import { type Field, type Pack, PackWriter } from "./Pack.ts"
import { bytesOfUuid, dashed } from "./rows.ts"
import { bucketsSql, countSql, scannedHead, scanSql } from "./scans.ts"
import { type DueChoice, dueSql, tallySql } from "./statements.ts"
import { writeHead, writeLife, writeTimer } from "./timerWire.ts"

const mostPrepared = 200

/** A slice ends after this many statements or rows. It takes a few milliseconds. */
export const mostInSlice = { statements: 250, rows: 1_000 } as const

/** Counting reads only an index: this many counted rows take about as long as one row that is read. */
const countedPerRow = 20
/** The same for rows that are counted by time. */
const bucketedPerRow = 10

/** Work that stops after each slice. */
export type Sliced<A> = Generator<void, A>

/** Work that stops after each statement and says how many rows the statement has read. */
type Statements<A> = Generator<number, A>

export class Reader {
  readonly #database: Database
  readonly #orders: ReaderOrders
  readonly #lookup: Lookup
  /** By their text. Lists and counts have about a hundred shapes, and few of them are in use. */
  readonly #prepared = new Map<string, Statement>()

  constructor(orders: ReaderOrders, lookup: Lookup) {
    this.#database = orders.database
    this.#orders = orders
    this.#lookup = lookup
  }

  /** Reads row by row, so that nothing is read beyond the row that reaches the limit of bytes. */
  due(query: DueQuery): DuePack {
    return this.#orders.atOneInstant(() => this.#due(query))
  }

  #due(query: DueQuery): DuePack {
    const out = new PackWriter()
    const sql = dueSql.timers(this.#orders.shown, choiceOf(query))
    let rows = 0
    let bytes = 0
    for (const row of this.#query(sql).iterate(...dueValues(query))) {
      bytes += writeDueRow(out, Object.values(row as object))
      rows++
      if (bytes < duePageBytes) continue
      // A statement that is not read to its end keeps its snapshot, and the log could not be emptied.
      this.#forget(sql)
      return { pack: out.finish(), isLast: false }
    }
    return { pack: out.finish(), isLast: rows < query.limit }
  }

  /** For each timer: namespace, timerId, uuid, fireId, fireAt. */
  dueHeads(query: DueQuery): Pack {
    return this.#orders.atOneInstant(() => {
      const out = new PackWriter()
      const sql = dueSql.heads(this.#orders.shown, choiceOf(query))
      for (const row of this.#query(sql).values(...dueValues(query))) {
        const [uuid, namespace, timerId, fireId, fireAt] = row as [string, string, string, string, number]
        writeHead(out, { namespace, timerId, uuid, fireId: dashed(fireId), fireAt })
      }
      return out.finish()
    })
  }

  /** The pending timer, the last life and the named life, each after a flag that says whether it exists. */
  find(key: TimerKey, life: NamedLife | undefined): Pack {
    return this.#orders.atOneInstant(() => {
      const lives = life === undefined ? [] : [life]
      const { pending, last, lives: [named] = [] } = this.#lookup.look({ key, lives, withPayload: true })
      const out = new PackWriter()
      out.field(pending === undefined ? 0 : 1)
      if (pending !== undefined) writeTimer(out, pending)
      out.field(last === undefined ? 0 : 1)
      if (last !== undefined) writeLife(out, last)
      if (life !== undefined) out.field(named === undefined ? 0 : 1)
      if (named !== undefined) writeLife(out, named)
      return out.finish()
    })
  }

  /** The matching rows among those examined, and the place to continue after, if there are more. */
  list(query: ListQuery, from: WalkPlace | undefined): Sliced<WalkedPack> {
    return this.#inSlices(this.#list(new ListWalk(query, from)))
  }

  count(query: CountQuery): Sliced<Counted> {
    return this.#inSlices(this.#count(new CountWalk(query, this.#canCount(query))))
  }

  histogram(query: HistogramQuery): Sliced<CountedBuckets> {
    return this.#inSlices(this.#histogram(new HistogramWalk(query, this.#canCount(query))))
  }

  scan(scans: ReadonlyArray<Scan>): ReadonlyArray<ReadonlyArray<ScannedHead>> {
    return this.#orders.atOneInstant(() => resultOf(this.#scan(scans)))
  }

  countIn(scans: ReadonlyArray<Scan>, limit: number): number {
    return this.#orders.atOneInstant(() => resultOf(this.#countIn(scans, limit)))
  }

  namespaces(exclusiveAfter: string, limit: number): ReadonlyArray<string> {
    return this.#orders.atOneInstant(() =>
      readNames(this.#database, this.#orders.shown, exclusiveAfter, limit),
    )
  }

  tally(): Tally {
    return { ...emptyTally, ...(this.#query(tallySql).get() as Tally) }
  }

  *#list(walk: ListWalk): Statements<WalkedPack> {
    for (;;) {
      const step = walk.step()
      if (step.kind === "scan") walk.scanned(yield* this.#scan(step.scans), step.scans)
      else if (step.kind === "look") walk.looked(yield* this.#look(step.looks))
      else break
    }
    const out = new PackWriter()
    for (const listed of walk.items) {
      out.field(listed.state)
      if (listed.state === "pending") writeTimer(out, listed.timer)
      else writeLife(out, listed.life)
    }
    const { examined, next } = walk
    return { pack: out.finish(), examined, ...(next === undefined ? {} : { next }) }
  }

  *#count(walk: CountWalk): Statements<Counted> {
    for (;;) {
      const step = walk.step()
      if (step.kind === "done") return walk.result
      if (step.kind === "scan") walk.scanned(yield* this.#scan(step.scans), step.scans)
      else walk.counted(yield* this.#countIn(step.scans, step.limit))
    }
  }

  *#histogram(walk: HistogramWalk): Statements<CountedBuckets> {
    for (;;) {
      const step = walk.step()
      if (step.kind === "done") return walk.result
      if (step.kind === "scan") walk.scanned(yield* this.#scan(step.scans), step.scans)
      else walk.counted(yield* this.#countByTime(step.scans, step.buckets, step.limit))
    }
  }

  *#scan(scans: ReadonlyArray<Scan>): Statements<ReadonlyArray<ReadonlyArray<ScannedHead>>> {
    const pages: Array<ReadonlyArray<ScannedHead>> = []
    for (const scan of scans) {
      const { text, values } = scanSql(scan, this.#orders.shown)
      const rows = this.#query(text).values(...values)
      pages.push(rows.map((row) => scannedHead(scan, row)))
      yield rows.length
    }
    return pages
  }

  *#look(looks: ReadonlyArray<Look>): Statements<ReadonlyArray<Known>> {
    const found: Array<Known> = []
    for (const look of looks) {
      found.push(this.#lookup.look(look))
      yield 1
    }
    return found
  }

  *#countIn(scans: ReadonlyArray<Scan>, limit: number): Statements<number> {
    let rows = 0
    for (const scan of scans) {
      if (rows === limit) break
      const { text, values } = countSql({ ...scan, limit: limit - rows }, this.#orders.shown)
      const counted = Number(this.#query(text).values(...values)[0]?.[0])
      rows += counted
      yield counted / countedPerRow
    }
    return rows
  }

  *#countByTime(
    scans: ReadonlyArray<Scan>,
    buckets: Buckets,
    limit: number,
  ): Statements<ReadonlyArray<number> | undefined> {
    const counts = new Array<number>(buckets.buckets).fill(0)
    let rows = 0
    for (const scan of scans) {
      const { text, values } = bucketsSql({ ...scan, limit: limit + 1 - rows }, buckets, this.#orders.shown)
      let counted = 0
      for (const [bucket, count] of this.#query(text).values(...values) as Array<[number, number]>) {
        counts[bucket] = (counts[bucket] ?? 0) + count
        counted += count
      }
      rows += counted
      if (rows > limit) return undefined
      yield counted / bucketedPerRow
    }
    return counts
  }

  /** Each slice sees one instant. A later slice sees what was committed in the meantime. */
  *#inSlices<A>(work: Statements<A>): Sliced<A> {
    for (;;) {
      const last = this.#orders.atOneInstant(() => oneSlice(work))
      if (last.done) return last.value
      yield
    }
  }

  /** A count by word looks each key up in every run, so it must run in slices. */
  #canCount(query: ListFilter): boolean {
    return this.#orders.shown.runs === 0 || wordOf(query) === undefined
  }

  #query(sql: string): Statement {
    const known = this.#prepared.get(sql)
    if (known !== undefined) return known
    if (this.#prepared.size === mostPrepared) {
      for (const statement of this.#prepared.values()) statement.finalize()
      this.#prepared.clear()
    }
    const statement = this.#database.prepare(sql)
    this.#prepared.set(sql, statement)
    return statement
  }

  #forget(sql: string): void {
    this.#prepared.get(sql)?.finalize()
    this.#prepared.delete(sql)
  }
}

const oneSlice = <A>(work: Statements<A>): IteratorResult<number, A> => {
  for (let statements = 1, rows = 0; ; statements++) {
    const statement = work.next()
    if (statement.done) return statement
    rows += statement.value
    if (statements === mostInSlice.statements || rows >= mostInSlice.rows) return statement
  }
}

const resultOf = <A>(work: Generator<unknown, A>): A => {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

const choiceOf = ({ only, except }: DueQuery): DueChoice => {
  if (only !== undefined) return "only"
  return except === undefined || except.length === 0 ? "all" : "except"
}

/** Writes the columns of `dueSql.timers`, and returns how many bytes they have. */
const writeDueRow = (out: PackWriter, row: Array<unknown>): number => {
  // The types of the columns, in the order of the statement.
  const payload = row.pop() as Uint8Array | null
  const spec = row.pop() as string
  row[3] = dashed(row[3] as string)
  let bytes = spec.length + (payload?.byteLength ?? 0)
  for (const field of row as Array<Field>) {
    out.field(field)
    if (typeof field === "string") bytes += field.length
  }
  out.shared(spec)
  out.bytes(payload ?? undefined)
  return bytes
}

const dueValues = (query: DueQuery): Array<string | number | Uint8Array> => {
  const { shard, exclusiveAfter, inclusiveUntilMs, limit, only, except } = query
  const values = [shard, exclusiveAfter.fireAt, bytesOfUuid(exclusiveAfter.fireId), inclusiveUntilMs, limit]
  if (only !== undefined) return [...values, only]
  return except === undefined || except.length === 0 ? values : [...values, JSON.stringify(except)]
}
