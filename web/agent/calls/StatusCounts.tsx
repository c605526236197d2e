/** How many calls there are of each status. Each count is a switch of the filter. */
import { changeParameters } from "../../kit/places.ts"
import { type CallCounts, statuses } from "../agentApi.ts"
import { statusTones } from "../StatusBadge.tsx"
import { type CallSearch, countIn, toggledStatus } from "./callSearch.ts"

export interface StatusCountsProps {
  readonly search: CallSearch
  readonly counts: CallCounts | undefined
}

export const StatusCounts = ({ search, counts }: StatusCountsProps) => {
  const textOf = (count: number | undefined) =>
    count === undefined ? "…" : `${count.toLocaleString("en")}${counts?.capped ? "+" : ""}`
  return (
    <fieldset className="status-counts">
      <legend className="visually-hidden">Filter by status</legend>
      <button
        type="button"
        className="status-count"
        aria-pressed={search.status.length === 0}
        onClick={() => changeParameters({ status: undefined })}
      >
        <span className="status-label">All</span>{" "}
        <span className="status-number figures">
          {textOf(counts === undefined ? undefined : countIn(counts, []))}
        </span>
      </button>
      {statuses.map((status) => (
        <button
          key={status}
          type="button"
          className={`status-count tone-${statusTones[status]}`}
          aria-pressed={search.status.includes(status)}
          onClick={() => changeParameters({ status: toggledStatus(search, status) })}
        >
          <span className="status-label">{status}</span>{" "}
          <span className="status-number figures">{textOf(counts?.[status])}</span>
        </button>
      ))}
    </fieldset>
  )
}
