// The columns that statements select for timers and lives. Times and counters leave SQL as float8. It holds every
// millisecond that a JavaScript number can, and needs no parsing, while bigint would arrive as text.
import { finishedFields, pendingFields, type TimerField } from "../../domain/timerFields.ts"
import { addedColumns } from "../addedValues.ts"

/** Counts are integers, which leave SQL as numbers anyway. */
const selected = (fields: ReadonlyArray<TimerField>): string =>
  fields
    .map(({ column, kind }) =>
      kind === "instant" || kind === "revision" || kind === "number"
        ? `${column}::float8 AS ${column}`
        : column,
    )
    .join(", ")

export const keyColumns = "uuid, namespace, timer_id"

/** The columns of a TimerRow. */
export const timerColumns = `${selected(pendingFields)}, spec`

/** The columns of a LifeRow. */
export const lifeColumns = `${selected(finishedFields)}, spec`

const withoutAdded = (fields: ReadonlyArray<TimerField>): ReadonlyArray<TimerField> =>
  fields.filter(({ column }) => !addedColumns.includes(column))

/** The same without the columns of added fields. */
export const olderTimerColumns = `${selected(withoutAdded(pendingFields))}, spec`
export const olderLifeColumns = `${selected(withoutAdded(finishedFields))}, spec`
