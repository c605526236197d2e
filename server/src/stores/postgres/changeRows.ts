// Converts changes to the parameters of the function that executes them (functions.sql). Nearly every commit consists
// of new and ended timers, which are sent as arrays, one for each column. All other changes are sent as JSON. Specs and
// payloads are sent separately: most timers of a program share a few specs, and payloads are bytes.
import type { AttemptLog } from "../../domain/AttemptLog.ts"
import { emptyTally, type Tally } from "../../domain/Decision.ts"
import type { FinishedLife, Timer, TimerKey } from "../../domain/Timer.ts"
import {
  type AddedTerms,
  addedFields,
  finishedFields,
  pendingFields,
  type TermsByName,
  type TimerField,
} from "../../domain/timerFields.ts"
import type { WordChange, WordRow } from "../../domain/words.ts"
import type { Commit, KeyChange } from "../../ports/ShardStorage.ts"
import { textOfLog } from "../AttemptLogText.ts"
import { addedValue } from "../addedValues.ts"
import { textOfSpec } from "../SpecText.ts"

type Value = string | number | boolean | null

/** By the column names in functions.sql. An absent column is NULL. */
type ChangeRow = { readonly [name: string]: Value | undefined }

const tallyNames = Object.keys(emptyTally) as ReadonlyArray<keyof Tally>

/** The specs and payloads of one call. */
export class Luggage {
  readonly #specs: Array<string> = []
  readonly #specNumbers = new Map<string, number>()
  readonly #payloads: Array<Uint8Array> = []
  #bytes = 0

  spec(text: string): number {
    const known = this.#specNumbers.get(text)
    if (known !== undefined) return known
    // SQL arrays begin at 1.
    const number = this.#specs.push(text)
    this.#specNumbers.set(text, number)
    return number
  }

  /** Where the payload begins, counted from 1. `null` if there is none. */
  payload(bytes: Uint8Array | undefined): number | null {
    if (bytes === undefined) return null
    const from = this.#bytes + 1
    this.#payloads.push(bytes)
    this.#bytes += bytes.byteLength
    return from
  }

  /** As JSON, which is much faster to build than an SQL array. */
  get specsText(): string {
    return JSON.stringify(this.#specs)
  }

  get payloads(): Uint8Array {
    return Buffer.concat(this.#payloads, this.#bytes)
  }
}

/** Whether the change is a new timer of an unused key, in the state that a create leaves. */
export const isNewTimer = ({ expects, pending, finished, tally }: KeyChange): boolean =>
  expects.pending === null &&
  expects.last === null &&
  expects.life === undefined &&
  finished === undefined &&
  pending !== null &&
  pending !== undefined &&
  pending.attempts === 0 &&
  pending.fireAt === pending.executeAt &&
  pending.revision === pending.createdAt &&
  pending.updatedAt === pending.createdAt &&
  pending.firstAttemptAt === undefined &&
  pending.attemptLog === undefined &&
  isOnly(tally, "created")

/** Whether the change turns a pending row into a finished life. */
export const isEndedTimer = ({ expects, pending, finished, tally }: KeyChange): boolean =>
  expects.pending !== null &&
  expects.pending !== undefined &&
  expects.life === undefined &&
  pending === null &&
  finished !== undefined &&
  finished.fireId === expects.pending.fireId &&
  isOnly(tally, finished.state)

const isOnly = (tally: Partial<Tally>, name: keyof Tally): boolean => {
  for (const counted in tally) {
    if (tally[counted as keyof Tally] !== (counted === name ? 1 : 0)) return false
  }
  return tally[name] === 1
}

type ColumnType = "integer" | "bigint" | "uuid" | "text"

interface Column {
  readonly type: ColumnType
  /** Sent as one element if all values are the same; commit_changes expects that. */
  readonly canBeOne?: true
  /** The number of characters of each value, for columns in which PostgreSQL would also accept other spellings. */
  readonly width?: number
}

const integer: Column = { type: "integer" }
const bigint: Column = { type: "bigint" }
const text: Column = { type: "text" }
/** The uuid of a key has 32 digits. A fireId also has dashes. */
const key: Column = { type: "uuid", width: 32 }
const fireId: Column = { type: "uuid", width: 36 }
const one = ({ type }: Column): Column => ({ type, canBeOne: true })

/** Added fields come last. Most have the same value in all timers of a commit, often none. */
const addedKinds: ReadonlyArray<Column> = (addedFields as ReadonlyArray<TimerField>).map(({ kind }) =>
  kind === "number" ? bigint : text,
)

/** The columns of new timers, in the order of the parameters of commit_changes. */
export const newColumns: ReadonlyArray<Column> = [
  ...[integer, key, one(text), text, fireId, bigint, one(bigint), bigint, text],
  ...[one(integer), integer, integer],
  ...addedKinds,
]

/** The columns of ended timers. */
export const endedColumns: ReadonlyArray<Column> = [
  ...[integer, key, one(text), text, fireId, one(integer), bigint, bigint],
  ...[one(text), bigint, bigint, one(integer), text, bigint, one(bigint), bigint, text, text],
  ...[text, one(integer), integer, integer],
  ...addedKinds,
]

/**
 * Collects rows of values as columns, and builds for each column the text that PostgreSQL reads as an array. Joining
 * and checking a column as a whole takes a fraction of the time of its single elements.
 */
class Columns {
  /** Whether a value may be one that PostgreSQL refuses. */
  isSuspect = false
  readonly #kinds: ReadonlyArray<Column>
  readonly #columns: ReadonlyArray<Array<string | number | null>>
  readonly #nulls: Array<number>

  constructor(kinds: ReadonlyArray<Column>) {
    this.#kinds = kinds
    this.#columns = kinds.map(() => [])
    this.#nulls = kinds.map(() => 0)
  }

  /** The row's added fields follow the values. */
  add(values: ReadonlyArray<string | number | null | undefined>, row: AddedTerms): void {
    for (let index = 0; index < values.length; index++) this.#push(index, values[index] ?? null)
    for (let index = 0; index < addedKinds.length; index++) {
      this.#push(values.length + index, addedValue(row, index))
    }
  }

  #push(column: number, value: string | number | null): void {
    if (value === null) this.#nulls[column] = (this.#nulls[column] ?? 0) + 1
    this.#columns[column]?.push(value)
  }

  /** NULL instead of a column without any value. */
  texts(): ReadonlyArray<string | null> {
    return this.#kinds.map((kind, index) => {
      const column = this.#columns[index] ?? []
      const nulls = this.#nulls[index] ?? 0
      if (nulls === column.length) return null
      const values = kind.canBeOne && isConstant(column) ? column.slice(0, 1) : column
      return this.#textOf(values, kind, nulls > 0)
    })
  }

  #textOf(column: ReadonlyArray<string | number | null>, { type, width }: Column, hasNulls: boolean): string {
    if (type !== "text") {
      const text = `{${(hasNulls ? column.map((value) => value ?? "NULL") : column).join(",")}}`
      // Includes the comma or the brace after each value, and the first brace.
      if (width !== undefined && text.length !== (width + 1) * column.length + 1) this.isSuspect = true
      return text
    }
    const all = column.join("")
    if (all.includes("\0") || !all.isWellFormed()) this.isSuspect = true
    const needsEscapes = all.includes('"') || all.includes("\\")
    if (!needsEscapes && !hasNulls) return `{"${column.join('","')}"}`
    return `{${column.map((value) => (value === null ? "NULL" : quoted(String(value)))).join(",")}}`
  }
}

const isConstant = (column: ReadonlyArray<string | number | null>): boolean => {
  const [first] = column
  for (let index = 1; index < column.length; index++) if (column[index] !== first) return false
  return true
}

const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`

export type ChangeGroup = "new" | "ended" | "other"

/** Distributes the commits over the parameters, and finds a change again from the answer of the function. */
export class CommitRows {
  readonly luggage = new Luggage()
  readonly others: Array<ChangeRow> = []
  readonly #new = new Columns(newColumns)
  readonly #ended = new Columns(endedColumns)
  readonly #tallies: Array<number> = []
  readonly #words: Array<ChangeRow> = []

  startCommit(): void {
    for (let name = 0; name < tallyNames.length; name++) this.#tallies.push(0)
  }

  /** Adds to the commit that was started last. */
  add(shard: number, change: KeyChange, place: number): ChangeGroup {
    const group = this.#addChange(shard, change, place)
    if (change.words !== undefined)
      this.#words.push(...wordRows(change.key, change.words, { shard, place, group }))
    return group
  }

  #addChange(shard: number, change: KeyChange, place: number): ChangeGroup {
    const base = this.#tallies.length - tallyNames.length
    for (const name in change.tally) {
      const index = base + tallyNames.indexOf(name as keyof Tally)
      this.#tallies[index] = (this.#tallies[index] ?? 0) + (change.tally[name as keyof Tally] ?? 0)
    }
    const { pending, finished, expects } = change
    if (isNewTimer(change) && pending) {
      this.#addNew(shard, pending)
      return "new"
    }
    if (isEndedTimer(change) && expects.pending && finished !== undefined) {
      const { attempts, revision, askedAt } = expects.pending
      this.#addEnded(shard, finished, [attempts, revision, askedAt])
      return "ended"
    }
    this.others.push({ place, shard, ...changeRow(change, this.luggage) })
    return "other"
  }

  parameters(commits: ReadonlyArray<Commit>): ReadonlyArray<unknown> {
    return [
      commits.map(({ shard }) => shard),
      commits.map(({ epoch }) => epoch),
      commits.map(({ number }) => number),
      this.#tallies,
      this.luggage.specsText,
      this.luggage.payloads,
      ...this.#new.texts(),
      ...this.#ended.texts(),
      this.others.length === 0 ? null : JSON.stringify(this.others),
      this.#words.length === 0 ? null : JSON.stringify(this.#words),
    ]
  }

  /** Valid after `parameters` was called: whether a value in the columns may be one that PostgreSQL refuses. */
  get isSuspect(): boolean {
    return this.#new.isSuspect || this.#ended.isSuspect
  }

  #addNew(shard: number, timer: Timer): void {
    this.#new.add(
      [
        shard,
        timer.uuid,
        timer.namespace,
        timer.timerId,
        timer.fireId,
        timer.executeAt,
        timer.createdAt,
        timer.askedAt,
        timer.correlationId,
        this.luggage.spec(textOfSpec(timer.spec)),
        this.luggage.payload(timer.payload),
        timer.payload?.byteLength,
      ],
      timer,
    )
  }

  #addEnded(shard: number, life: FinishedLife, expected: ReadonlyArray<number | undefined>): void {
    this.#ended.add(
      [
        shard,
        life.uuid,
        life.namespace,
        life.timerId,
        life.fireId,
        ...expected,
        life.state,
        life.revision,
        life.executeAt,
        life.attempts,
        logText(life.attemptLog),
        life.createdAt,
        life.finishedAt,
        life.latenessMs,
        life.reason,
        life.endedBy,
        life.correlationId,
        this.luggage.spec(textOfSpec(life.spec)),
        this.luggage.payload(life.payload),
        life.payload?.byteLength,
      ],
      life,
    )
  }
}

/** `sent` tells the function which change the words belong to. */
export const wordRows = (
  { namespace, timerId, uuid }: TimerKey,
  { removed, added }: WordChange,
  sent: { readonly shard?: number; readonly place?: number; readonly group?: ChangeGroup },
): ReadonlyArray<ChangeRow> => {
  const rowOf = (isAdded: boolean) => (row: WordRow) => ({
    ...sent,
    uuid,
    is_added: isAdded,
    namespace,
    timer_id: timerId,
    word: row.word,
    state: row.state,
    at: row.atMs,
    fire_id: row.fireId,
    revision: row.revision,
  })
  return [...removed.map(rowOf(false)), ...added.map(rowOf(true))]
}

const changeRow = (change: KeyChange, luggage: Luggage): ChangeRow => {
  const { key, expects, pending, finished, tally } = change
  return {
    namespace: key.namespace,
    timer_id: key.timerId,
    uuid: key.uuid,
    ...expectedRow(expects),
    ...(pending === undefined ? {} : { pending: becomes(change) }),
    ...(pending ? timerRow(pending, change, luggage) : {}),
    ...(finished === undefined ? {} : lifeRow(finished, luggage)),
    life: lifeBecomes(change),
    ...Object.fromEntries(tallyNames.map((name) => [name, tally[name] ?? 0])),
  }
}

const becomes = ({ pending, expects }: KeyChange): "insert" | "update" | "remove" =>
  pending === null ? "remove" : expects.pending === null ? "insert" : "update"

const lifeBecomes = ({
  removesLife,
  finished,
  expects,
}: KeyChange): "remove" | "correct" | "add" | undefined => {
  if (removesLife) return "remove"
  if (finished === undefined) return undefined
  return expects.life === undefined || expects.life.state === null ? "add" : "correct"
}

const expectedRow = ({ pending, last, life }: KeyChange["expects"]): ChangeRow => ({
  ...(pending === null ? { e_pending: "none" } : {}),
  ...(pending
    ? {
        e_pending: "same",
        e_fire_id: pending.fireId,
        e_attempts: pending.attempts,
        e_revision: pending.revision,
        e_asked_at: pending.askedAt,
      }
    : {}),
  ...(last === undefined ? {} : { checks_last: true, e_last_fire_id: last }),
  ...(life === undefined
    ? {}
    : { e_life_fire_id: life.fireId, e_life_revision: life.minRevision, e_life_state: life.state }),
})

/** Without a spec, the stored one stays. */
export const timerRow = (
  timer: Timer,
  { payload, keepsSpec }: Pick<KeyChange, "payload" | "keepsSpec">,
  luggage: Luggage,
): ChangeRow => ({
  ...columnsOf(pendingFields, timer, ""),
  ...(keepsSpec ? {} : { spec: luggage.spec(textOfSpec(timer.spec)) }),
  ...(payload === "keep"
    ? { keeps_payload: true }
    : { payload_from: luggage.payload(timer.payload), payload_bytes: timer.payload?.byteLength }),
})

const lifeRow = (life: FinishedLife, luggage: Luggage): ChangeRow => ({
  ...columnsOf(finishedFields, life, "l_"),
  l_spec: luggage.spec(textOfSpec(life.spec)),
  l_payload_from: luggage.payload(life.payload),
  l_payload_bytes: life.payload?.byteLength,
})

/** The fields of a row under their column names, each with this prefix. */
const columnsOf = (
  fields: ReadonlyArray<TimerField>,
  row: Timer | FinishedLife,
  prefix: string,
): ChangeRow => {
  const columns: { [name: string]: Value } = {}
  for (const { name, column } of fields) {
    // The types of the table guarantee that the row has this field.
    const value = (row as unknown as TermsByName)[name]
    // Logs and lists are JSON in their columns.
    if (value !== undefined) {
      columns[`${prefix}${column}`] = Array.isArray(value) ? JSON.stringify(value) : (value as Value)
    }
  }
  return columns
}

const logText = (log: AttemptLog | undefined): string | undefined =>
  log === undefined ? undefined : textOfLog(log)
