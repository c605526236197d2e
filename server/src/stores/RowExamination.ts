// Decodes every pending timer and every finished life of an examined store, and reports the unreadable ones. The store
// passes the rows one by one, with only the columns that must be decoded. It also counts the targets of pending timers.
import type { Spec, TimerKey } from "../domain/Timer.ts"
import { keyOf } from "../domain/TimerKey.ts"
import { namedMost, type TargetCount, targetsMost, type UnreadableRows } from "../ports/StoreReport.ts"
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

/** Targets are counted only up to this number of different ones, because callers choose them. */
const countedTargetsMost = 10_000

export class RowExamination {
  /** The number of rows in a page, if rows are read in pages. */
  static readonly pageItems = 1_000
  readonly #what: "timers" | "lives"
  readonly #named: Array<string> = []
  #count = 0
  readonly #misplaced: Array<string> = []
  #misplacedCount = 0
  readonly #targets = new Map<string, number>()

  constructor(what: "timers" | "lives") {
    this.#what = what
  }

  take(row: ExaminedRow): void {
    const { namespace, timer_id: timerId, spec, last_attempt, uuid } = row
    const read: { spec: Spec } = {
      spec: spec === null ? unreadableSpec("its body is missing") : specOfText(spec),
    }
    if (last_attempt !== null) addLog(read, last_attempt)
    addStoredOf(read, row)
    this.takeDecoded({ namespace, timerId, uuid, spec: read.spec })
  }

  /** Takes a timer or a life as the store has read it. */
  takeDecoded({ namespace, timerId, uuid, spec }: TimerKey & { readonly spec: Spec }): void {
    if (keyOf(namespace, timerId).uuid !== uuid) {
      this.#misplacedCount++
      if (this.#misplaced.length < namedMost) this.#misplaced.push(`${namespace}/${timerId}`)
    }
    const why = spec.unreadable
    if (why === undefined) {
      if (this.#what === "timers") this.#countTarget(spec)
      return
    }
    this.#count++
    if (this.#named.length < namedMost) this.#named.push(`${namespace}/${timerId} (${why})`)
  }

  /** The targets with the most pending timers. */
  get targets(): ReadonlyArray<TargetCount> {
    return [...this.#targets]
      .map(([url, count]) => ({ url, count }))
      .sort((a, b) => b.count - a.count)
      .slice(0, targetsMost)
  }

  #countTarget({ target }: Spec): void {
    const url = target.type === "webhook" ? URL.parse(target.url)?.origin : undefined
    if (url === undefined) return
    const count = this.#targets.get(url)
    if (count === undefined && this.#targets.size >= countedTargetsMost) return
    this.#targets.set(url, (count ?? 0) + 1)
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
