// Decodes every pending timer and every finished life of an examined store, and reports the unreadable ones. The store
// passes the rows one by one, with only the columns that must be decoded.
import type { Spec } from "../domain/Timer.ts"
import { keyOf } from "../domain/TimerKey.ts"
import { namedMost, type UnreadableRows } from "../ports/StoreReport.ts"
import { addLog } from "./AttemptLogText.ts"
import { addedColumns, addStoredOf } from "./addedValues.ts"
import { specOfText, unreadableSpec } from "./SpecText.ts"

/** The examined part of a row. Only a timer without a body has no spec. */
export interface ExaminedRow {
  readonly namespace: string
  readonly timer_id: string
  readonly spec: string | null
  readonly last_attempt: string | null
  /** 32 hex digits. */
  readonly uuid: string
}

/**
 * The columns of an ExaminedRow. `uuidSql` is the store's expression for the uuid. The columns of added fields are
 * included only for this program's schema.
 */
export const examinedColumns = (isOwnSchema: boolean, uuidSql: string): string =>
  [`namespace, timer_id, spec, last_attempt, ${uuidSql} AS uuid`, ...(isOwnSchema ? addedColumns : [])].join(
    ", ",
  )

export class RowExamination {
  /** The number of rows in a page, if rows are read in pages. */
  static readonly pageItems = 1_000
  readonly #what: "timers" | "lives"
  readonly #named: Array<string> = []
  #count = 0
  readonly #misplaced: Array<string> = []
  #misplacedCount = 0

  constructor(what: "timers" | "lives") {
    this.#what = what
  }

  take(row: ExaminedRow): void {
    const { namespace, timer_id, spec, last_attempt, uuid } = row
    if (keyOf(namespace, timer_id).uuid !== uuid) {
      this.#misplacedCount++
      if (this.#misplaced.length < namedMost) this.#misplaced.push(`${namespace}/${timer_id}`)
    }
    const read: { spec: Spec } = {
      spec: spec === null ? unreadableSpec("its body is missing") : specOfText(spec),
    }
    if (last_attempt !== null) addLog(read, last_attempt)
    addStoredOf(read, row)
    const why = read.spec.unreadable
    if (why === undefined) return
    this.#count++
    if (this.#named.length < namedMost) this.#named.push(`${namespace}/${timer_id} (${why})`)
  }

  /** A row with a wrong uuid is a fault, because it cannot be found by its key. */
  get faults(): ReadonlyArray<string> {
    const rest = this.#misplacedCount - this.#misplaced.length
    const names = `${this.#misplaced.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`
    return this.#misplacedCount === 0
      ? []
      : [`these ${this.#what} have a uuid that does not belong to their key: ${names}`]
  }

  get found(): ReadonlyArray<UnreadableRows> {
    return this.#count === 0 ? [] : [{ what: this.#what, count: this.#count, named: this.#named }]
  }
}
