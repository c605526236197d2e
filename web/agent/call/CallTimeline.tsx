/** What happened to the call, from its submission to its outcome, and how far apart. */
import { classes } from "../../kit/classes.ts"
import { Moment } from "../../kit/Moment.tsx"
import { durationText } from "../../kit/times.ts"
import type { CallDetail } from "../agentApi.ts"
import { latenessMsOf } from "../callTexts.ts"
import { statusTones } from "../StatusBadge.tsx"

type Entry = CallDetail["timeline"][number]

interface Step {
  readonly key: string
  readonly at: string
  readonly title: string
  readonly note?: string | undefined
  readonly tone: string
  /** It has not happened yet. */
  readonly isAhead?: boolean
}

const titles: Readonly<Record<string, string>> = {
  ServiceCallSubmitted: "Submitted",
  ScheduleTimer: "Scheduled",
  ServiceCallScheduled: "Scheduled",
  DueTimeReached: "The due time was reached",
  StartExecution: "The attempt began",
  ExecutionStarted: "The request was sent",
  ExecutionSucceeded: "Succeeded",
  ExecutionFailed: "Failed",
  Cancelled: "Cancelled",
  Rescheduled: "Moved to another time",
  Rescued: "Picked up again",
  LateOutcome: "The outcome came too late",
}

/** A submission is stored first, and handled a little later. Its handling schedules the call, or starts it at once. */
const submissionTitles: Partial<Record<Entry["status"], string>> = {
  Scheduled: "Scheduled",
  Running: "The attempt began, because it was due at once",
}

const titleOf = ({ what, status }: Entry): string =>
  what === "SubmitServiceCall"
    ? (submissionTitles[status] ?? "Submitted")
    : (titles[what] ?? what.replace(/(?<=[a-z])(?=[A-Z])/g, " "))

/** The entries, and the due time between them. */
export const stepsOf = ({ call, timeline }: CallDetail): ReadonlyArray<Step> => {
  const lateness = latenessMsOf(call)
  const due: Step = {
    key: "due",
    at: call.dueAt,
    title: "Due",
    tone: "due",
    isAhead: call.status === "Scheduled" || call.status === "Submitted",
    note: lateness === undefined ? undefined : `The request was sent ${durationText(lateness)} later.`,
  }
  const steps = timeline.map(
    (entry, index): Step => ({
      key: `${entry.version}-${index}`,
      at: entry.at,
      title: titleOf(entry),
      note: entry.detail,
      tone: statusTones[entry.status],
    }),
  )
  // A call that is due at once was due when it was submitted.
  const isLater = Date.parse(call.dueAt) > Date.parse(call.submittedAt)
  return [...steps, ...(isLater && call.status !== "Cancelled" ? [due] : [])].sort(
    (a, b) => Date.parse(a.at) - Date.parse(b.at) || Number(b.key === "due") - Number(a.key === "due"),
  )
}

export const CallTimeline = ({ found }: { readonly found: CallDetail }) => {
  const steps = stepsOf(found)
  return (
    <section className="card" aria-labelledby="timeline-title">
      <header className="card-head">
        <h2 id="timeline-title">Timeline</h2>
        <Lateness found={found} />
      </header>
      <ol className="steps">
        {steps.map(({ key, at, title, note, tone, isAhead }, index) => {
          const before = steps[index - 1]
          return (
            <li key={key} className={classes("step", isAhead && "step-ahead")}>
              <span className={`step-dot step-${tone}`} />
              <div className="step-what">
                <strong>{title}</strong>
                {note !== undefined && <span className="muted">{note}</span>}
              </div>
              <div className="step-when figures">
                <Moment at={at} show="exact" />
                {before !== undefined && (
                  <span className="muted">
                    + {durationText(Math.max(0, Date.parse(at) - Date.parse(before.at)))}
                  </span>
                )}
              </div>
            </li>
          )
        })}
      </ol>
    </section>
  )
}

const Lateness = ({ found: { call } }: { readonly found: CallDetail }) => {
  const lateness = latenessMsOf(call)
  return lateness === undefined ? null : (
    <span className="muted figures">Lateness {durationText(lateness)}</span>
  )
}
