/** Exports the namespaces of a search, with their counts and quotas. */

import { countText } from "../../kit/countText.ts"
import { ExportButton } from "../../kit/ExportButton.tsx"
import type { Column } from "../../kit/exportRows.ts"
import type { NamespaceView } from "../api.ts"
import { namespacePage } from "../namespacePage.ts"

const rowsPerCall = 100

const columns: ReadonlyArray<Column<NamespaceView>> = [
  { name: "namespace", value: ({ namespace }) => namespace },
  { name: "paused", value: ({ paused }) => String(paused) },
  { name: "pending", value: ({ pending }) => countText(pending) },
  { name: "maxPending", value: ({ maxPending }) => maxPending },
  { name: "dead", value: ({ dead }) => countText(dead) },
  { name: "maxInFlight", value: ({ maxInFlight }) => maxInFlight },
  { name: "createsPerSecond", value: ({ createsPerSecond }) => createsPerSecond },
  { name: "secrets", value: ({ webhookSecrets }) => webhookSecrets.length },
  { name: "updatedAt", value: ({ updatedAt }) => updatedAt },
]

export const ExportNamespaces = ({ prefix }: { readonly prefix: string }) => (
  <ExportButton<NamespaceView>
    name="namespaces"
    unit="namespaces"
    columns={columns}
    page={async (cursor, signal) => {
      const { namespaces, nextCursor } = await namespacePage({ prefix, cursor, limit: rowsPerCall }, signal)
      return { rows: namespaces, next: nextCursor }
    }}
  />
)
