// A row that a scan has found, with named columns, as the head that lists need.
import type { FinishedState } from "../domain/Timer.ts"
import type { Scan, ScannedHead, SortKey } from "../ports/ShardStorage.ts"
import { tagsOfHead } from "./addedValues.ts"
import { type KeyColumns, keyOfColumns } from "./columnRows.ts"
import { rowDetails } from "./rowDetails.ts"

export interface ScannedRow extends KeyColumns {
  readonly fire_id: string
  readonly revision: number
  readonly at_ms: number
  readonly correlation_id: string
  readonly tags?: string | null | undefined
  readonly state: "pending" | FinishedState
  /** Only needed for finished lives in the order of their ends. */
  readonly entry?: number
  /** Only present if one statement answers several scans. */
  readonly lane?: number
  /** These are only present if details were requested. */
  readonly spec?: string | undefined
  readonly last_attempt?: string | null | undefined
  readonly reason?: string | null | undefined
  readonly lateness_ms?: number | null | undefined
}

/** The place of a row in an order. */
export const placeIn = (
  { order, word = "" }: Pick<Scan, "order" | "word">,
  row: Pick<ScannedRow, "at_ms" | "fire_id" | "timer_id" | "revision" | "entry">,
): SortKey => {
  switch (order) {
    case "due":
      return [row.at_ms, row.fire_id]
    case "pendingId":
      return [row.timer_id]
    case "end":
      return [row.at_ms, row.entry ?? 0]
    case "finishedId":
      return [row.timer_id, row.revision]
    case "word":
      return [word, row.at_ms, row.fire_id]
  }
}

export const headOfColumns = (scan: Scan, row: ScannedRow): ScannedHead => {
  return {
    ...keyOfColumns(row),
    place: placeIn(scan, row),
    state: row.state,
    fireId: row.fire_id,
    revision: row.revision,
    atMs: row.at_ms,
    correlationId: row.correlation_id,
    ...tagsOfHead(row.tags ?? null),
    ...(scan.withDetails ? { details: detailsOf(row) } : {}),
  }
}

const detailsOf = ({ spec = "", last_attempt = null, reason = null, lateness_ms = null }: ScannedRow) =>
  rowDetails(spec, last_attempt, reason, lateness_ms)
