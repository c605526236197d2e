/** The timers that a job replayed, and in which state they are now. */
import { useState } from "react"
import { Link } from "../../kit/Link.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { Loading } from "../../kit/Screen.tsx"
import { Switch } from "../../kit/Switch.tsx"
import type { Timer } from "../api.ts"
import { type BulkJob, numberText } from "../bulk/bulkJob.ts"
import {
  type Fate,
  fateOf,
  fates,
  fateText,
  hasReplayed,
  type ReplayedTimers,
  replayedMax,
  useReplayed,
} from "../bulk/useReplayed.ts"
import { StateBadge } from "../timers/StateBadge.tsx"
import { timerHref } from "../timers/timerHref.ts"
import { rowKey } from "../timers/useTimerPages.ts"

const rowsShown = 100

const labels: Readonly<Record<Fate, string>> = {
  delivered: "Delivered",
  pending: "Pending",
  dead: "Dead again",
  cancelled: "Cancelled",
}

/** Nothing for other jobs, and for a job that has replayed nothing. */
export const Replayed = ({ job }: { readonly job: BulkJob }) =>
  hasReplayed(job) ? <ReplayedCard job={job} /> : null

const ReplayedCard = ({ job }: { readonly job: BulkJob }) => {
  const { data, error } = useReplayed(job)
  return (
    <section className="card replayed-card" aria-labelledby="replayed-title">
      <header className="card-head">
        <h2 id="replayed-title">What became of the replayed timers</h2>
      </header>
      {data !== undefined ? (
        <Fates job={job} replayed={data} />
      ) : error === null ? (
        <Loading rows={3} />
      ) : (
        <p className="card-body field-error">{error.message}</p>
      )}
    </section>
  )
}

interface FatesProps {
  readonly job: BulkJob
  readonly replayed: ReplayedTimers
}

const Fates = ({ job, replayed }: FatesProps) => {
  const [chosen, setChosen] = useState<Fate | "all">("all")
  const { timers, counts } = replayed
  const shown = timers.filter((timer) => chosen === "all" || fateOf(timer) === chosen)
  const options = fates.flatMap((fate) =>
    counts[fate] > 0 || fate === chosen
      ? [{ value: fate, label: `${labels[fate]} ${numberText(counts[fate])}` }]
      : [],
  )
  return (
    <>
      <div className="card-body replayed-head">
        <p className="figures">{fateText(job, replayed)}.</p>
        {options.length > 1 && (
          <Switch
            label="State"
            value={chosen}
            options={[{ value: "all" as const, label: "All" }, ...options]}
            onChange={setChosen}
          />
        )}
      </div>
      {shown.length > 0 && <ReplayedRows timers={shown.slice(0, rowsShown)} />}
      {(replayed.isCut || shown.length > rowsShown) && (
        <p className="list-end muted figures">
          {shown.length > rowsShown && `The first ${rowsShown} of ${numberText(shown.length)}. `}
          {replayed.isCut && cutText}
        </p>
      )}
    </>
  )
}

const cutText = `The page reads at most ${numberText(replayedMax)} timers of each state, and delivered ones only if the filter names a namespace. So timers may be missing here.`

const ReplayedRows = ({ timers }: { readonly timers: ReadonlyArray<Timer> }) => (
  <div className="table-scroll">
    <table className="table replayed">
      <thead>
        <tr>
          <th scope="col">State</th>
          <th scope="col">Timer</th>
          <th scope="col" className="number">
            Attempts
          </th>
          <th scope="col">Last change</th>
        </tr>
      </thead>
      <tbody>
        {timers.map((timer) => (
          <tr key={rowKey(timer)}>
            <td>
              <StateBadge timer={timer} />
            </td>
            <td className="replayed-id">
              <Link href={timerHref(timer)} className="timer-link">
                <span className="muted">{timer.namespace} / </span>
                {timer.timerId}
              </Link>
            </td>
            <td className="number">{timer.attempts}</td>
            <td>
              <Moment at={timer.finishedAt ?? timer.updatedAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
