/** Exports every call of the list, not only the rows that are shown. */
import { ExportButton } from "../../kit/ExportButton.tsx"
import type { Column } from "../../kit/exportRows.ts"
import { type Call, listCalls } from "../agentApi.ts"
import { durationMsOf, latenessMsOf } from "../callTexts.ts"
import { type CallSearch, listQuery } from "./callSearch.ts"

/** The most that the service gives at once. */
const rowsPerCall = "200"

const callColumns: ReadonlyArray<Column<Call>> = [
  { name: "serviceCallId", value: ({ serviceCallId }) => serviceCallId },
  { name: "name", value: ({ name }) => name },
  { name: "status", value: ({ status }) => status },
  { name: "method", value: ({ method }) => method },
  { name: "url", value: ({ url }) => url },
  { name: "submittedAt", value: ({ submittedAt }) => submittedAt },
  { name: "dueAt", value: ({ dueAt }) => dueAt },
  { name: "startedAt", value: ({ startedAt }) => startedAt },
  { name: "finishedAt", value: ({ finishedAt }) => finishedAt },
  { name: "latenessMs", value: latenessMsOf },
  { name: "durationMs", value: durationMsOf },
  { name: "answer", value: ({ response }) => response?.status },
  { name: "errorKind", value: ({ error }) => error?.kind },
  { name: "error", value: ({ error }) => error?.message },
  { name: "starred", value: ({ starred }) => String(starred) },
  { name: "tags", value: ({ tags }) => tags.join(" ") },
  { name: "correlationId", value: ({ correlationId }) => correlationId },
]

export interface ExportCallsProps {
  readonly tenant: string
  readonly search: CallSearch
}

export const ExportCalls = ({ tenant, search }: ExportCallsProps) => (
  <ExportButton<Call>
    name={`calls-${tenant}`}
    unit="calls"
    columns={callColumns}
    page={async (cursor, signal) => {
      const query = { ...listQuery(search), limit: rowsPerCall, ...(cursor === undefined ? {} : { cursor }) }
      const { calls, nextCursor } = await listCalls(tenant, query, signal)
      return { rows: calls, next: nextCursor }
    }}
  />
)
