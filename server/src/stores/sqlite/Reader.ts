// The reading connection, in a thread of its own. A read sees the last commit before it, and waits for none. Pages are
// returned as packs, written directly from the rows.
import type { Database, Statement } from "bun:sqlite"
import { emptyTally, type Tally } from "../../domain/Decision.ts"
import type { TimerKey } from "../../domain/Timer.ts"
import type { NamedLife } from "../../domain/WriteItem.ts"
import type { Scan, ScannedHead } from "../../ports/ShardStorage.ts"
import type { Counted, CountQuery, DueQuery, ListQuery } from "../../ports/TimerStore.ts"
import { CountWalk } from "../CountWalk.ts"
import type { WalkPlace } from "../ListLane.ts"
import { ListWalk } from "../ListWalk.ts"
import type { WalkedPack } from "./calls.ts"
import type { Lookup } from "./Lookup.ts"
import { type Field, type Pack, PackWriter } from "./Pack.ts"
import { bytesOfUuid, dashed } from "./rows.ts"
import { countSql, scannedHead, scanSql } from "./scans.ts"
import { readerSql } from "./statements.ts"
import { writeHead, writeLife, writeTimer } from "./timerWire.ts"

const mostPrepared = 200

export class Reader {
  readonly #database: Database
  readonly #lookup: Lookup
  /** By their text. Lists and counts have about a hundred shapes, and few of them are in use. */
  readonly #prepared = new Map<string, Statement>()

  constructor(database: Database, lookup: Lookup) {
    this.#database = database
    this.#lookup = lookup
  }

  due(query: DueQuery): Pack {
    const out = new PackWriter()
    for (const row of this.#duePage(readerSql.due, query).values(...dueValues(query))) {
      const payload = row.pop() as Uint8Array | null
      const spec = row.pop() as string
      row[3] = dashed(row[3] as string)
      for (const field of row) out.field(field as Field)
      out.shared(spec)
      out.bytes(payload ?? undefined)
    }
    return out.finish()
  }

  /** For each timer: namespace, timerId, uuid, fireId, fireAt. */
  dueHeads(query: DueQuery): Pack {
    const out = new PackWriter()
    for (const row of this.#duePage(readerSql.heads, query).values(...dueValues(query))) {
      const [uuid, namespace, timerId, fireId, fireAt] = row as [string, string, string, string, number]
      writeHead(out, { namespace, timerId, uuid, fireId: dashed(fireId), fireAt })
    }
    return out.finish()
  }

  /** The pending timer, the last life and the named life, each after a flag that says whether it exists. */
  find(key: TimerKey, life: NamedLife | undefined): Pack {
    return this.#atOneInstant(() => {
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
  list(query: ListQuery, from: WalkPlace | undefined, mostExamined: number): WalkedPack {
    return this.#atOneInstant(() => {
      const walk = new ListWalk(query, from, mostExamined)
      for (;;) {
        const step = walk.step()
        if (step.kind === "scan") walk.scanned(this.scan(step.scans), step.scans)
        else if (step.kind === "look") walk.looked(step.looks.map((look) => this.#lookup.look(look)))
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
    })
  }

  count(query: CountQuery): Counted {
    return this.#atOneInstant(() => {
      const walk = new CountWalk(query, true)
      for (;;) {
        const step = walk.step()
        if (step.kind === "done") return walk.result
        if (step.kind === "scan") walk.scanned(this.scan(step.scans), step.scans)
        else walk.counted(this.countIn(step.scans, step.limit))
      }
    })
  }

  scan(scans: ReadonlyArray<Scan>): ReadonlyArray<ReadonlyArray<ScannedHead>> {
    return scans.map((scan) => {
      const { text, values } = scanSql(scan)
      const rows = this.#query(text).values(...values)
      return rows.map((row) => scannedHead(scan, row))
    })
  }

  countIn(scans: ReadonlyArray<Scan>, limit: number): number {
    let rows = 0
    for (const scan of scans) {
      if (rows === limit) break
      const { text, values } = countSql({ ...scan, limit: limit - rows })
      rows += Number(this.#query(text).values(...values)[0]?.[0])
    }
    return rows
  }

  tally(): Tally {
    return { ...emptyTally, ...(this.#query(readerSql.tally).get() as Tally) }
  }

  #duePage(pages: (typeof readerSql)["due" | "heads"], { only, except }: DueQuery): Statement {
    if (only !== undefined) return this.#query(pages.only)
    return this.#query(except === undefined || except.length === 0 ? pages.all : pages.except)
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

  #atOneInstant<A>(read: () => A): A {
    this.#database.run("BEGIN")
    try {
      return read()
    } finally {
      this.#database.run("COMMIT")
    }
  }
}

const dueValues = (query: DueQuery): Array<string | number | Uint8Array> => {
  const { shard, exclusiveAfter, inclusiveUntilMs, limit, only, except } = query
  const values = [shard, exclusiveAfter.fireAt, bytesOfUuid(exclusiveAfter.fireId), inclusiveUntilMs, limit]
  if (only !== undefined) return [...values, only]
  return except === undefined || except.length === 0 ? values : [...values, JSON.stringify(except)]
}
