// Which timers a call selected, for its audit record: the request as the caller wrote it, without the cursor.
import type { AuditDetails } from "@punctual/api/AuditRecord"
import { TimerFilter } from "@punctual/api/TimerFilter"
import { SchemaParser } from "effect"

interface Selection {
  readonly namespace: string
  readonly timerId?: string
  readonly filter?: typeof TimerFilter.Type
  readonly all?: true
}

export const selectionDetails = ({
  namespace,
  timerId,
  filter,
  all,
}: Selection): NonNullable<AuditDetails["about"]> => ({
  namespace,
  ...(timerId === undefined ? {} : { timerId }),
  ...(filter === undefined ? {} : { filter: encodeFilter(filter) }),
  ...(all === undefined ? {} : { all }),
})

const encodeFilter = SchemaParser.encodeUnknownSync(TimerFilter)
