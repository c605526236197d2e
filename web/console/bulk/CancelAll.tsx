/** On the page of timers: cancels all timers that match the search, as a job. */
import { lazy, Suspense, useState } from "react"
import { Menu } from "../../kit/Menu.tsx"
import { goTo } from "../../kit/places.ts"
import { hrefOf } from "../location.ts"
import type { SearchRequest } from "../timers/search.ts"
import { useMayAct } from "./useMayAct.ts"

// Few readers open it, and the first page must load fast.
const BulkDialog = lazy(async () => ({ default: (await import("./BulkDialog.tsx")).BulkDialog }))

/** Nothing if the search is not about pending timers alone, or if the reader may not cancel them. */
export const CancelAll = ({ request }: { readonly request: SearchRequest }) => {
  const [isAsking, setAsking] = useState(false)
  const mayAct = useMayAct()
  const isPending = request.states.every((state) => state === "pending")
  if (!isPending || !mayAct("cancel", request)) return null
  return (
    <>
      <Menu
        icon="more"
        label="More"
        items={[
          {
            label: "Cancel all that match",
            icon: "trash",
            isDangerous: true,
            onChoose: () => setAsking(true),
          },
          { label: "Bulk jobs", icon: "jobs", onChoose: () => goTo(hrefOf("jobs")) },
        ]}
      />
      {isAsking && (
        <Suspense fallback={null}>
          <BulkDialog
            deed="cancel"
            request={request}
            onClose={() => setAsking(false)}
            onStarted={({ jobId }) => goTo(hrefOf("jobs", { id: jobId }))}
          />
        </Suspense>
      )}
    </>
  )
}
