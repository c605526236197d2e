// A timer or a life that a scan has read, as the head that lists need.
import type { FinishedLife, Timer } from "../domain/Timer.ts"
import type { RowDetails, ScannedHead, SortKey } from "../ports/ShardStorage.ts"

export const headOfRow = (
  row: Timer | FinishedLife,
  place: SortKey,
  withDetails: boolean | undefined,
): ScannedHead => {
  const { namespace, timerId, uuid, fireId, revision, correlationId, tags } = row
  const head = { namespace, timerId, uuid, place, fireId, revision, correlationId }
  const isEnded = "finishedAt" in row
  return {
    ...head,
    state: isEnded ? row.state : "pending",
    atMs: isEnded ? row.finishedAt : row.fireAt,
    ...(tags === undefined ? {} : { tags }),
    ...(withDetails ? { details: detailsOf(row) } : {}),
  }
}

const detailsOf = (row: Timer | FinishedLife): RowDetails => {
  const { spec, attemptLog } = row
  const { reason, latenessMs } = "finishedAt" in row ? row : ({} as Partial<FinishedLife>)
  const lastAttempt = attemptLog?.at(-1)
  return {
    ...(spec.unreadable === undefined ? { target: spec.target } : {}),
    ...(lastAttempt === undefined ? {} : { lastAttempt }),
    ...(reason === undefined ? {} : { reason }),
    ...(latenessMs === undefined ? {} : { latenessMs }),
  }
}
