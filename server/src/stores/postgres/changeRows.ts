// Converts changes to the parameters of the function that executes them (functions.sql). Nearly every commit consists
// of new and ended timers, which are sent as arrays, one for each column. All other changes are sent as JSON. Specs and
// payloads are sent separately: most timers of a program share a few specs, and payloads are bytes.
import { type Tally, tallyNames } from "../../domain/Decision.ts"
import type { FinishedLife, Timer, TimerKey } from "../../domain/Timer.ts"
import { finishedFields, pendingFields, type TermsByName, type TimerField } from "../../domain/timerFields.ts"
import type { WordChange, WordRow } from "../../domain/words.ts"
import type { Commit, KeyChange } from "../../ports/ShardStorage.ts"
import { textOfSpec } from "../SpecText.ts"
import { type ColumnForm, Columns, endedColumns, newColumns, type SentRow } from "./Columns.ts"

type Value = string | number | boolean | null

/** By the column names in functions.sql. An absent column is NULL. */
type ChangeRow = { readonly [name: string]: Value | undefined }

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

/** The parameters of a call, and the form of their columns. */
export interface SentParameters {
  readonly form: ColumnForm
  readonly values: ReadonlyArray<unknown>
}

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
      this.#new.add(this.#rowOf(shard, pending))
      return "new"
    }
    if (isEndedTimer(change) && expects.pending && finished !== undefined) {
      this.#ended.add({ ...this.#rowOf(shard, finished), expected: expects.pending })
      return "ended"
    }
    this.others.push({ place, shard, ...changeRow(change, this.luggage) })
    return "other"
  }

  parameters(commits: ReadonlyArray<Commit>): SentParameters {
    const split = this.#columnTexts("split")
    const form = this.#new.needsQuotes || this.#ended.needsQuotes ? "quoted" : "split"
    const values = [
      commits.map(({ shard }) => shard),
      commits.map(({ epoch }) => epoch),
      commits.map(({ number }) => number),
      this.#tallies,
      this.luggage.specsText,
      this.luggage.payloads,
      ...(form === "split" ? split : this.#columnTexts(form)),
      this.others.length === 0 ? null : JSON.stringify(this.others),
      this.#words.length === 0 ? null : JSON.stringify(this.#words),
    ]
    return { form, values }
  }

  #columnTexts(form: ColumnForm): ReadonlyArray<string | null> {
    return [...this.#new.texts(form), ...this.#ended.texts(form)]
  }

  #rowOf<Of extends Timer | FinishedLife>(shard: number, of: Of): SentRow<Of> {
    const spec = this.luggage.spec(textOfSpec(of.spec))
    return { of, shard, spec, payloadFrom: this.luggage.payload(of.payload) }
  }

  /** Valid after `parameters` was called: whether a value in the columns may be one that PostgreSQL refuses. */
  get isSuspect(): boolean {
    return this.#new.isSuspect || this.#ended.isSuspect
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
