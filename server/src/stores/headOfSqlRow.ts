// A row that a scan of an SQL server selected, as the head that lists need.
import type { FinishedState } from "../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../ports/ShardStorage.ts"
import { tagsOfHead } from "./addedValues.ts"
import { rowDetails } from "./rowDetails.ts"
import { keyOfSqlRow, type SqlKeyRow } from "./sqlRows.ts"

export interface ScannedRow extends SqlKeyRow {
  readonly fire_id: string
  readonly revision: number
  readonly at_ms: number
  readonly correlation_id: string
  readonly tags: string | null
  readonly state: "pending" | FinishedState
  /** Only for finished lives. */
  readonly entry: number
  /** Only present if one statement answers several scans. */
  readonly lane?: number
  /** These are only present if details were requested. */
  readonly spec?: string
  readonly last_attempt?: string | null
  readonly reason?: string | null
  readonly lateness_ms?: number | null
}

export const headOfSqlRow = ({ order, word = "", withDetails }: Scan, row: ScannedRow): ScannedHead => {
  const places: { readonly [order in Scan["order"]]: SortKey } = {
    due: [row.at_ms, row.fire_id],
    pendingId: [row.timer_id],
    end: [row.at_ms, row.entry],
    finishedId: [row.timer_id, row.revision],
    word: [word, row.at_ms, row.fire_id],
  }
  return {
    ...keyOfSqlRow(row),
    place: places[order],
    state: row.state,
    fireId: row.fire_id,
    revision: row.revision,
    atMs: row.at_ms,
    correlationId: row.correlation_id,
    ...tagsOfHead(row.tags),
    ...(withDetails ? { details: detailsOf(row) } : {}),
  }
}

const detailsOf = ({ spec = "", last_attempt = null, reason = null, lateness_ms = null }: ScannedRow) =>
  rowDetails(spec, last_attempt, reason, lateness_ms)
