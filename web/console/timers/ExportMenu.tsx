/** Exports every timer of a list, not only the rows that are shown. */
import { ExportButton } from "../../kit/ExportButton.tsx"
import type { Column } from "../../kit/exportRows.ts"
import { call } from "../../kit/serviceCall.ts"
import type { Timer, TimerPage } from "../api.ts"
import type { SearchRequest } from "./search.ts"
import { targetText } from "./targetText.ts"

const rowsPerCall = 1_000

const columns: ReadonlyArray<Column<Timer>> = [
  { name: "namespace", value: ({ namespace }) => namespace },
  { name: "timerId", value: ({ timerId }) => timerId },
  { name: "state", value: ({ state }) => state },
  { name: "executeAt", value: ({ executeAt }) => executeAt },
  { name: "fireAt", value: ({ fireAt }) => fireAt },
  { name: "finishedAt", value: ({ finishedAt }) => finishedAt },
  { name: "attempts", value: ({ attempts }) => attempts },
  { name: "latenessMs", value: ({ latenessMs }) => latenessMs },
  { name: "target", value: targetText },
  { name: "status", value: ({ lastAttempt }) => lastAttempt?.status },
  { name: "error", value: ({ lastAttempt }) => lastAttempt?.error },
  { name: "reason", value: ({ reason }) => reason },
  { name: "tags", value: ({ tags }) => tags?.join(" ") },
  { name: "correlationId", value: ({ correlationId }) => correlationId },
  { name: "fireId", value: ({ fireId }) => fireId },
  { name: "createdAt", value: ({ createdAt }) => createdAt },
]

export interface ExportMenuProps {
  readonly request: SearchRequest
  /** The name of the file, without its ending. */
  readonly name: string
}

export const ExportMenu = ({ request, name }: ExportMenuProps) => (
  <ExportButton<Timer>
    name={name}
    unit="timers"
    columns={columns}
    page={async (cursor, signal) => {
      const body = { ...request, limit: rowsPerCall, ...(cursor === undefined ? {} : { cursor }) }
      const { timers, nextCursor } = await call<TimerPage>("timers/list", body, signal)
      return { rows: timers, next: nextCursor }
    }}
  />
)
