/** The rows of the list of calls. Only the visible ones are drawn, so a long list stays fast. */
import { useEffect } from "react"
import { classes } from "../../kit/classes.ts"
import { Icon } from "../../kit/Icon.tsx"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { changeParameters } from "../../kit/places.ts"
import { SelectBox } from "../../kit/SelectBox.tsx"
import { durationText } from "../../kit/times.ts"
import { useRowWindow } from "../../kit/useRowWindow.ts"
import type { Selection } from "../../kit/useSelection.ts"
import type { Call } from "../agentApi.ts"
import { callHref } from "../agentPlaces.ts"
import { durationMsOf, pathOf } from "../callTexts.ts"
import { StarButton, useStar } from "../StarButton.tsx"
import { StatusBadge } from "../StatusBadge.tsx"
import type { CallSearch } from "./callSearch.ts"

export interface CallRowsProps {
  readonly calls: ReadonlyArray<Call>
  readonly search: CallSearch
  readonly isGone: (call: Call) => boolean
  /** The rows are those of the last filter, until those of the new one have come. */
  readonly isOld: boolean
  /** Absent if the reader may change nothing. */
  readonly selection: Selection<Call> | undefined
  /** Called when the reader is near the end. */
  readonly onEnd: () => void
}

export const callKeyOf = ({ serviceCallId }: Call): string => serviceCallId

const rowTerms = { heights: { wide: 56, narrow: 84 }, keyOf: callKeyOf, hrefOf: callHref }
const nearEnd = 20

export const CallRows = ({ calls, search, isGone, isOld, selection, onEnd }: CallRowsProps) => {
  const { mutate: star } = useStar()
  const { list, at, height, visible, offset } = useRowWindow(calls, rowTerms, (current, leave) => ({
    // The first Escape clears the selection.
    ...(selection === undefined || selection.rows.length === 0 ? { Escape: leave } : {}),
    s: () => {
      if (current !== undefined) star(current)
    },
    x: () => {
      if (current !== undefined) selection?.toggle([current])
    },
  }))
  const last = visible.at(-1)?.index ?? 0
  useEffect(() => {
    if (last >= calls.length - nearEnd) onEnd()
  }, [last, calls.length, onEnd])
  return (
    <div
      className={classes(
        "call-rows",
        isOld && "call-rows-old",
        selection !== undefined && "call-rows-select",
      )}
      role="table"
      aria-label="Calls"
      aria-rowcount={calls.length + 1}
      aria-busy={isOld}
    >
      <div role="rowgroup">
        <div className="call-row call-head" role="row">
          {selection !== undefined && (
            <span role="columnheader">
              <SelectBox label="Select all rows" rows={calls} selection={selection} />
            </span>
          )}
          <span role="columnheader">
            <span className="visually-hidden">Star</span>
          </span>
          <span role="columnheader">Status</span>
          <span role="columnheader">Call</span>
          <span role="columnheader">Request</span>
          <SortHeader search={search} sort="submitted" label="Submitted" />
          <SortHeader search={search} sort="due" label="Due" />
          <span role="columnheader" className="cell-duration">
            Duration
          </span>
        </div>
      </div>
      <div ref={list} className="call-body" role="rowgroup" style={{ height }}>
        {visible.map(({ index, key, start, size }) => {
          const call = calls[index]
          if (call === undefined) return null
          return (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              className={classes(
                "call-row",
                index === at && "call-row-at",
                isGone(call) && "call-gone",
                selection?.has(call) === true && "call-selected",
              )}
              style={{ height: size, transform: `translateY(${start - offset}px)` }}
            >
              {selection !== undefined && (
                <span role="cell" className="cell-select">
                  <SelectBox label={`Select ${call.name}`} rows={[call]} selection={selection} />
                </span>
              )}
              <CallCells call={call} onStar={star} />
            </div>
          )
        })}
      </div>
    </div>
  )
}

interface SortHeaderProps {
  readonly search: CallSearch
  readonly sort: CallSearch["sort"]
  readonly label: string
}

const SortHeader = ({ search, sort, label }: SortHeaderProps) => {
  const isSorted = search.sort === sort
  const isAscending = isSorted && search.order === "asc"
  return (
    <span
      role="columnheader"
      className={`cell-${sort}`}
      aria-sort={isSorted ? (isAscending ? "ascending" : "descending") : "none"}
    >
      <button
        type="button"
        className={classes("sort", isSorted && "sort-on", isAscending && "sort-up")}
        onClick={() =>
          changeParameters({
            sort: sort === "due" ? "due" : undefined,
            order: isSorted && !isAscending ? "asc" : undefined,
          })
        }
      >
        {label}
        <Icon name="down" />
      </button>
    </span>
  )
}

interface CallCellsProps {
  readonly call: Call
  readonly onStar: (call: Call) => void
}

const CallCells = ({ call, onStar }: CallCellsProps) => {
  const duration = durationMsOf(call)
  return (
    <>
      <span role="cell" className="cell-star">
        <StarButton call={call} onStar={onStar} />
      </span>
      <span role="cell" className="cell-status">
        <StatusBadge status={call.status} />
      </span>
      <span role="cell" className="cell-call">
        <Link href={callHref(call)} className="call-link" title={call.name}>
          {call.name}
        </Link>
        <span className="call-line">
          <code className="call-id muted" title={call.serviceCallId}>
            {call.serviceCallId}
          </code>
          {call.tags.map((tag) => (
            <span key={tag} className="call-tag">
              {tag}
            </span>
          ))}
        </span>
      </span>
      <span role="cell" className="cell-request" title={`${call.method} ${call.url}`}>
        <span className="call-line">
          <span className="method">{call.method}</span>
          {call.host}
        </span>
        <span className="call-path muted">{pathOf(call)}</span>
      </span>
      <span role="cell" className="cell-when cell-submitted">
        <Moment at={call.submittedAt} show="short" />
      </span>
      <span role="cell" className="cell-when cell-due">
        <Moment at={call.dueAt} show="short" />
      </span>
      <span role="cell" className="cell-duration figures">
        {call.response !== undefined && <span className="http-status">{call.response.status}</span>}
        {duration !== undefined && <span>{durationText(duration)}</span>}
        {call.response === undefined && call.error !== undefined && (
          <span className="call-error" title={call.error.message}>
            {errorLabels[call.error.kind]}
          </span>
        )}
      </span>
    </>
  )
}

const errorLabels: Readonly<Record<NonNullable<Call["error"]>["kind"], string>> = {
  status: "refused",
  timeout: "time-out",
  network: "no contact",
  egressRefused: "not allowed",
  outcomeUnknown: "unknown",
}
