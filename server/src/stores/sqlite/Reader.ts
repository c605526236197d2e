// The connection that reads, in a thread of its own: a read sees the last commit before it, and waits
// for none. Pages leave as packs, written straight from the rows.
import type { Database, Statement } from "bun:sqlite"
import { emptyTally, type Tally } from "../../domain/decide.ts"
import type { TimerKey } from "../../domain/Timer.ts"
import type { DueQuery, ListQuery } from "../../ports/TimerStore.ts"
import { isDescending, mostRowsCounted, mostRowsExamined, type SortKey } from "../ListOrder.ts"
import { type Field, type Pack, PackWriter } from "./Pack.ts"
import {
  bytesOfUuid,
  dashed,
  type KeyRow,
  keyOfRow,
  type LifeRow,
  lifeOf,
  type TimerRow,
  timerOf,
} from "./rows.ts"
import { readerSql } from "./statements.ts"
import { writeHead, writeLife, writeTimer } from "./timerWire.ts"
import { countSql, pageSql, type Walked, walkOf } from "./walks.ts"

type BodyRow = { readonly spec: string; readonly payload: Uint8Array | null }

/** One more than the rows a statement may look at tells whether there are more. */
const oneMore = 1

const mostPrepared = 200

export class Reader {
  readonly #database: Database
  /** By their text; lists and counts have some hundred shapes, of which few are in use. */
  readonly #prepared = new Map<string, Statement>()

  constructor(database: Database) {
    this.#database = database
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

  /** Of each: namespace, timerId, uuid, fireId, fireAt. */
  dueHeads(query: DueQuery): Pack {
    const out = new PackWriter()
    for (const row of this.#duePage(readerSql.heads, query).values(...dueValues(query))) {
      const [uuid, namespace, timerId, fireId, fireAt] = row as [string, string, string, string, number]
      writeHead(out, { namespace, timerId, uuid, fireId: dashed(fireId), fireAt })
    }
    return out.finish()
  }

  /** Pending and last life, each after whether there is one. */
  find(key: TimerKey): Pack {
    return this.#atOneInstant(() => {
      const out = new PackWriter()
      const named = [key.namespace, key.timerId] as const
      const pending = this.#query(readerSql.pending).get(...named) as (TimerRow & BodyRow) | null
      out.field(pending === null ? 0 : 1)
      if (pending !== null) writeTimer(out, timerOf(key, pending, pending.spec, pending.payload))
      const ended = this.#query(readerSql.lastEnded).get(...named) as LifeRow | null
      const dead = this.#query(readerSql.lastDead).get(...named) as LifeRow | null
      const last = (dead?.revision ?? -1) > (ended?.revision ?? -1) ? dead : ended
      out.field(last === null ? 0 : 1)
      if (last !== null) writeLife(out, lifeOf(last))
      return out.finish()
    })
  }

  /** The matching rows among those examined, and the key to go on after, if there are more. */
  list(query: ListQuery, after: SortKey | undefined): { readonly pack: Pack; readonly next?: SortKey } {
    return this.#atOneInstant(() => {
      const walk = walkOf(query)
      const examined = walk.rest.length === 0 ? query.limit : mostRowsExamined
      const sql = pageSql(walk, after, isDescending(query))
      const rows = this.#query(sql).values(...walk.values, examined + oneMore)
      const out = new PackWriter()
      let listed = 0
      for (const [index, row] of rows.entries()) {
        if (listed === query.limit || index === examined) {
          return { pack: out.finish(), next: keyOf(rows[index - 1] ?? [], walk.key[1]) }
        }
        if (row[3] !== 1) continue
        listed++
        this.#writeListed(out, query, Number(row[0]))
      }
      return { pack: out.finish() }
    })
  }

  count(query: Walked & { readonly limit: number }): { readonly count: number; readonly capped: boolean } {
    const walk = walkOf(query)
    const examined = walk.rest.length === 0 ? query.limit : Math.max(query.limit, mostRowsCounted)
    const [row] = this.#query(countSql(walk)).values(...walk.values, examined + oneMore)
    const [seen, hits] = [Number(row?.[0]), Number(row?.[1])]
    return { count: Math.min(hits, query.limit), capped: hits > query.limit || seen > examined }
  }

  tally(): Tally {
    return { ...emptyTally, ...(this.#query(readerSql.tally).get() as Tally) }
  }

  #writeListed(out: PackWriter, query: ListQuery, id: number): void {
    if (query.state === "pending") {
      const row = this.#query(readerSql.timerById).get(id) as TimerRow & KeyRow & BodyRow
      writeTimer(out, timerOf(keyOfRow(row), row, row.spec, query.includePayload ? row.payload : null))
    } else {
      const sql = query.state === "dead" ? readerSql.deadById : readerSql.endedById
      const row = this.#query(sql).get(id) as LifeRow
      writeLife(out, lifeOf(query.includePayload ? row : { ...row, payload: null }))
    }
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

/** The columns that the walk's own statement sorts by. */
const keyOf = (row: ReadonlyArray<unknown>, second: string): SortKey =>
  (second === "0" ? [row[1]] : [row[1], row[2]]) as unknown as SortKey
