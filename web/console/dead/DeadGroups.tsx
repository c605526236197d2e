/** Dead letters by cause. Each cause shows how many there are, the latest error, and the timer that died last. */
import { useState } from "react"
import { Button } from "../../kit/Button.tsx"
import { classes } from "../../kit/classes.ts"
import { Icon } from "../../kit/Icon.tsx"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { goTo } from "../../kit/places.ts"
import { SelectBox } from "../../kit/SelectBox.tsx"
import { leaveControls, useShortcuts } from "../../kit/shortcuts.ts"
import type { Timer } from "../api.ts"
import { numberText } from "../bulk/bulkJob.ts"
import { timerHref } from "../timers/timerHref.ts"
import { rowKey } from "../timers/useTimerPages.ts"
import { DeadHead, DeadRow, type RowTools } from "./DeadRow.tsx"
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
const rowsInGroup = 20

/** A cause, or one of the rows of the cause that is open. The keys j and k go through all of them. */
interface Stop {
  readonly group: DeadGroup
  readonly timer?: Timer
}

const stopsOf = (groups: ReadonlyArray<DeadGroup>, open: string | undefined): ReadonlyArray<Stop> =>
  groups.flatMap((group) => [
    { group },
    ...(group.key === open ? group.timers.slice(0, rowsInGroup).map((timer) => ({ group, timer })) : []),
  ])

const stopKey = ({ group, timer }: Stop): string => (timer === undefined ? group.key : rowKey(timer))

export const DeadGroups = (props: DeadGroupsProps) => {
  const { groups, open, tools, onOpen, onBulk, mayBulk } = props
  const shown = groups.slice(0, groupsMax)
  const largest = Math.max(1, ...shown.map(({ timers }) => timers.length))
  const [at, setAt] = useState<string>()
  const stops = stopsOf(shown, open)
  const current = stops.find((stop) => stopKey(stop) === at)
  const move = (step: number) => {
    const from = current === undefined ? -1 : stops.indexOf(current)
    const next = stops[Math.max(0, Math.min(stops.length - 1, from + step))]
    if (next === undefined) return
    leaveControls()
    setAt(stopKey(next))
  }
  const act = (deed: DisposeDeed) => {
    const isGroup = current !== undefined && current.timer === undefined
    if (isGroup && tools.selection.rows.length === 0 && current.group.filter !== undefined) {
      if (mayBulk(deed)) onBulk(deed, current.group)
    } else tools.onKey(deed, current?.timer)
  }
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      if (current?.timer !== undefined) goTo(timerHref(current.timer))
      else if (current !== undefined) onOpen(current.group.key === open ? undefined : current.group.key)
    },
    x: () => {
      const timers = current?.timer === undefined ? (current?.group.timers ?? []) : [current.timer]
      if (timers.some(tools.maySelect)) tools.selection.toggle(timers.filter(tools.maySelect))
    },
    r: () => act("replay"),
    d: () => act("discard"),
  })
  return (
    <>
      <ul className="dead-groups" aria-label="Causes">
        {shown.map((group) => (
          <li
            key={group.key}
            ref={group.key === at ? scrolledIntoView : undefined}
            className={classes("dead-group", group.key === at && "row-at")}
          >
            <GroupHead {...props} group={group} largest={largest} />
            {group.key === open && <GroupRows {...props} group={group} at={at} />}
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

const scrolledIntoView = (element: HTMLElement | null): void => element?.scrollIntoView({ block: "nearest" })

interface GroupProps extends DeadGroupsProps {
  readonly group: DeadGroup
}

const GroupHead = (props: GroupProps & { readonly largest: number }) => {
  const { group, largest, open, tools, onOpen } = props
  const { place, reason, timers, latest } = group
  const isOpen = group.key === open
  const gone = timers.filter((timer) => tools.newStateOf(timer) !== undefined).length
  const name = `${place}: ${reasonText(reason)}`
  return (
    <div className="group-head">
      {timers.some(tools.maySelect) && (
        <SelectBox
          label={`Select all ${timers.length} of ${name}`}
          rows={timers.filter(tools.maySelect)}
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
        <strong>
          {numberText(timers.length)}
          <span className="group-unit"> dead</span>
        </strong>
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

const GroupActions = ({ group, tools, onNarrow, onBulk, mayBulk }: GroupProps) => {
  if (group.filter === undefined) return null
  const isGone = group.timers.every((timer) => tools.newStateOf(timer) !== undefined)
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
        <Button
          icon="replay"
          aria-label={`Replay all: ${name}`}
          disabled={isGone}
          onClick={() => onBulk("replay", group)}
        >
          Replay
        </Button>
      )}
      {mayBulk("discard") && (
        <Button
          look="quiet"
          icon="trash"
          label={`Discard all: ${name}`}
          disabled={isGone}
          onClick={() => onBulk("discard", group)}
        />
      )}
    </span>
  )
}

const GroupRows = ({ group, tools, onNarrow, at }: GroupProps & { readonly at: string | undefined }) => {
  const { timers, filter, place } = group
  const shown = timers.slice(0, rowsInGroup)
  return (
    <div className="group-rows">
      <div role="table" aria-label={`Dead letters of ${place}`}>
        <div role="rowgroup">
          <DeadHead timers={shown} tools={tools} label={`Select the rows of ${place}`} />
        </div>
        <div role="rowgroup">
          {shown.map((timer) => (
            <div
              key={rowKey(timer)}
              ref={rowKey(timer) === at ? scrolledIntoView : undefined}
              role="row"
              className={classes(
                "dead-row",
                rowKey(timer) === at && "row-at",
                tools.selection.has(timer) && "dead-selected",
                tools.newStateOf(timer) !== undefined && "row-gone",
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
