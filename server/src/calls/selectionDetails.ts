// Which timers a call selected, for its audit record: the request as the caller wrote it, without the cursor.
import type { AuditDetails } from "@punctual/api/AuditRecord"
import { TimerFilter } from "@punctual/api/TimerFilter"
import { SchemaParser } from "effect"

interface Selection {
  readonly namespace: string
  readonly timerId?: string
  readonly filter?: typeof TimerFilter.Type
  readonly all?: true
  readonly reason?: string
}

export const selectionDetails = ({
  namespace,
  timerId,
  filter,
  all,
  reason,
}: Selection): NonNullable<AuditDetails["about"]> => ({
  namespace,
  ...(timerId === undefined ? {} : { timerId }),
  ...(filter === undefined ? {} : { filter: encodeFilter(filter) }),
  ...(all === undefined ? {} : { all }),
  ...(reason === undefined ? {} : { reason }),
})

const encodeFilter = SchemaParser.encodeUnknownSync(TimerFilter)
