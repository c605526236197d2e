/** What can be done with the selected calls. It lies over the page, so that nothing moves when it comes. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { Menu } from "../../kit/Menu.tsx"
import { useShortcuts } from "../../kit/shortcuts.ts"
import type { Selection } from "../../kit/useSelection.ts"
import type { Call } from "../agentApi.ts"
import { ChangeManyDialog } from "./ChangeManyDialog.tsx"
import type { ChangeManyMenuProps } from "./ChangeManyMenu.tsx"
import type { ManyAct } from "./changeMany.ts"

export interface CallSelectionBarProps extends ChangeManyMenuProps {
  readonly selection: Selection<Call>
}

export const CallSelectionBar = ({ selection, onDone, ...search }: CallSelectionBarProps) => {
  const [act, setAct] = useState<ManyAct>()
  const { rows, clear } = selection
  useShortcuts(rows.length === 0 ? {} : { Escape: clear })
  return (
    <>
      {rows.length > 0 && (
        <section className="selection-bar" aria-label="Selected calls">
          <span className="figures selection-count" role="status">
            {rows.length.toLocaleString("en")} selected
          </span>
          <span className="selection-actions">
            <Button icon="star" onClick={() => setAct("star")}>
              Star
            </Button>
            <Button onClick={() => setAct("addTag")}>Tag</Button>
            <Button icon="trash" onClick={() => setAct("cancel")}>
              Cancel
            </Button>
            <Menu
              icon="more"
              label="More for the selected calls"
              items={[
                { label: "Remove the stars …", onChoose: () => setAct("unstar") },
                { label: "Remove a tag …", onChoose: () => setAct("removeTag") },
              ]}
            />
            <Button look="quiet" icon="close" label="Clear the selection (Esc)" onClick={clear} />
          </span>
        </section>
      )}
      {act !== undefined && (
        <ChangeManyDialog
          {...search}
          act={act}
          selected={rows}
          onDone={() => {
            clear()
            onDone()
          }}
          onClose={() => setAct(undefined)}
        />
      )}
    </>
  )
}
