/** What the reader can do with all calls of the list at once. */
import { useState } from "react"
import { Menu } from "../../kit/Menu.tsx"
import type { Call, CallCounts } from "../agentApi.ts"
import { ChangeManyDialog } from "./ChangeManyDialog.tsx"
import type { CallSearch } from "./callSearch.ts"
import type { ManyAct } from "./changeMany.ts"

export interface ChangeManyMenuProps {
  readonly tenant: string
  readonly search: CallSearch
  readonly counts: CallCounts | undefined
  readonly calls: ReadonlyArray<Call>
  readonly onDone: () => void
}

export const ChangeManyMenu = (props: ChangeManyMenuProps) => {
  const [act, setAct] = useState<ManyAct>()
  return (
    <>
      <Menu
        icon="more"
        label="Change all calls of the list"
        items={[
          { label: "Star all …", icon: "star", onChoose: () => setAct("star") },
          { label: "Remove the stars of all …", onChoose: () => setAct("unstar") },
          { label: "Add a tag to all …", onChoose: () => setAct("addTag") },
          { label: "Remove a tag from all …", onChoose: () => setAct("removeTag") },
          { label: "Cancel all …", icon: "trash", isDangerous: true, onChoose: () => setAct("cancel") },
        ]}
      />
      {act !== undefined && <ChangeManyDialog {...props} act={act} onClose={() => setAct(undefined)} />}
    </>
  )
}
