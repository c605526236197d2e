/** Dead letters by cause. Each cause shows how many there are, the latest error, and the timer that died last. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { classes } from "../../kit/classes.ts"
import { Icon } from "../../kit/Icon.tsx"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { SelectBox } from "../../kit/SelectBox.tsx"
import { useShortcuts } from "../../kit/shortcuts.ts"
import { numberText } from "../bulk/bulkJob.ts"
import { timerHref } from "../timers/timerHref.ts"
import { rowKey } from "../timers/useTimerPages.ts"
import { DeadRow, type RowTools } from "./DeadRow.tsx"
import type { DisposeDeed } from "./dispose.ts"
import { type DeadGroup, errorText, reasonText } from "./groups.ts"

export interface DeadGroupsProps {
  readonly groups: ReadonlyArray<DeadGroup>
  /** The key of the group whose rows are shown. */
  readonly open: string | undefined
  readonly tools: RowTools
  readonly onOpen: (key: string | undefined) => void
  /** Shows only this group. */
  readonly onNarrow: (group: DeadGroup, view: "groups" | "rows") => void
  /** Absent for groups that no filter selects. */
  readonly onBulk: (deed: DisposeDeed, group: DeadGroup) => void
  readonly mayBulk: (deed: DisposeDeed) => boolean
}

const groupsMax = 100

export const DeadGroups = (props: DeadGroupsProps) => {
  const { groups, open, tools, onOpen } = props
  const shown = groups.slice(0, groupsMax)
  const largest = Math.max(1, ...shown.map(({ timers }) => timers.length))
  const [at, setAt] = useState<number>()
  const current = at === undefined ? undefined : shown[at]
  const move = (step: number) => {
    const next = Math.max(0, Math.min(shown.length - 1, (at ?? -1) + step))
    setAt(next)
    document.getElementById(`group-${next}`)?.scrollIntoView({ block: "nearest" })
  }
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      if (current !== undefined) onOpen(current.key === open ? undefined : current.key)
    },
    x: () => {
      if (current !== undefined) tools.selection.toggle(current.timers)
    },
  })
  return (
    <>
      <ul className="dead-groups" aria-label="Causes">
        {shown.map((group, index) => (
          <li
            key={group.key}
            id={`group-${index}`}
            className={classes("dead-group", index === at && "row-at")}
          >
            <GroupHead {...props} group={group} largest={largest} />
            {group.key === open && <GroupRows {...props} group={group} />}
          </li>
        ))}
      </ul>
      {groups.length > groupsMax && (
        <p className="list-end muted figures">
          The {groupsMax} largest of {numberText(groups.length)} causes. Narrow the search to see others.
        </p>
      )}
    </>
  )
}

interface GroupProps extends DeadGroupsProps {
  readonly group: DeadGroup
}

const GroupHead = (props: GroupProps & { readonly largest: number }) => {
  const { group, largest, open, tools, onOpen } = props
  const { place, reason, timers, latest } = group
  const isOpen = group.key === open
  const gone = timers.filter(tools.isGone).length
  const name = `${place}: ${reasonText(reason)}`
  return (
    <div className="group-head">
      {timers.some(tools.maySelect) && (
        <SelectBox
          label={`Select all ${timers.length} of ${name}`}
          rows={timers}
          selection={tools.selection}
        />
      )}
      <button
        type="button"
        className="group-open"
        aria-expanded={isOpen}
        onClick={() => onOpen(isOpen ? undefined : group.key)}
      >
        <Icon name={isOpen ? "down" : "right"} />
        <span className="group-name">
          <strong>{place}</strong>
          <span className="group-reason">{reasonText(reason)}</span>
        </span>
      </button>
      <span className="group-count figures">
        <strong>{numberText(timers.length)}</strong>
        {gone > 0 && <span className="muted"> ({numberText(gone)} no longer here)</span>}
        <span className="group-share" aria-hidden="true">
          <span style={{ width: `${(100 * timers.length) / largest}%` }} />
        </span>
      </span>
      <p className="group-latest">
        <span className="group-error" title={errorText(latest)}>
          {errorText(latest) ?? "no attempt was made"}
        </span>
        <span className="muted group-sample">
          latest:{" "}
          <Link href={timerHref(latest)}>
            {latest.namespace} / {latest.timerId}
          </Link>{" "}
          {latest.finishedAt !== undefined && <Moment at={latest.finishedAt} />}
        </span>
      </p>
      <GroupActions {...props} />
    </div>
  )
}

const GroupActions = ({ group, onNarrow, onBulk, mayBulk }: GroupProps) => {
  if (group.filter === undefined) return null
  const name = `${group.place}, ${reasonText(group.reason)}`
  return (
    <span className="group-actions">
      <Button
        look="quiet"
        icon="search"
        aria-label={`Only this cause: ${name}`}
        onClick={() => onNarrow(group, "groups")}
      >
        Only this
      </Button>
      {mayBulk("replay") && (
        <Button icon="replay" aria-label={`Replay all: ${name}`} onClick={() => onBulk("replay", group)}>
          Replay
        </Button>
      )}
      {mayBulk("discard") && (
        <Button
          look="quiet"
          icon="trash"
          label={`Discard all: ${name}`}
          onClick={() => onBulk("discard", group)}
        />
      )}
    </span>
  )
}

const rowsInGroup = 20

const GroupRows = ({ group, tools, onNarrow }: GroupProps) => {
  const { timers, filter, place } = group
  const shown = timers.slice(0, rowsInGroup)
  return (
    <div className="group-rows">
      <div role="table" aria-label={`Dead letters of ${place}`}>
        <div role="rowgroup">
          {shown.map((timer) => (
            <div
              key={rowKey(timer)}
              role="row"
              className={classes(
                "dead-row",
                tools.selection.has(timer) && "dead-selected",
                tools.isGone(timer) && "row-gone",
              )}
            >
              <DeadRow timer={timer} tools={tools} />
            </div>
          ))}
        </div>
      </div>
      {timers.length > shown.length && (
        <p className="group-more muted figures">
          The first {shown.length} of {numberText(timers.length)}.
          {filter !== undefined && (
            <Button isSmall onClick={() => onNarrow(group, "rows")}>
              All rows
            </Button>
          )}
        </p>
      )}
    </div>
  )
}
