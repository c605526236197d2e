/** The life of a timer as a line and as a list: created, due, each attempt, the wait until the next, the end. */
import { useRef } from "react"
import { classes } from "../../kit/classes.ts"
import { Moment } from "../../kit/Moment.tsx"
import { durationText } from "../../kit/times.ts"
import { useWidth } from "../../kit/useWidth.ts"
import type { Timer } from "../api.ts"
import { statusText } from "../statusWords.ts"
import { type Attempt, isOnlyStatus, type LifeMoment, momentsOf, placesOf } from "./moments.ts"

const shownAttempts = 20

export const Timeline = ({ timer }: { readonly timer: Timer }) => {
  const moments = momentsOf(timer)
  return (
    <section className="card" aria-labelledby="timeline-title">
      <header className="card-head">
        <h2 id="timeline-title">Timeline</h2>
        {timer.attempts > shownAttempts && (
          <span className="muted">
            The latest {shownAttempts} of {timer.attempts} attempts
          </span>
        )}
      </header>
      <Track moments={moments} />
      <ol className="moments">
        {moments.map((moment, index) => (
          <MomentRow
            key={`${moment.kind}-${moment.atMs}-${moment.number ?? ""}`}
            moment={moment}
            timer={timer}
            sinceMs={index === 0 ? undefined : moment.atMs - (moments[index - 1]?.atMs ?? moment.atMs)}
          />
        ))}
      </ol>
    </section>
  )
}

const trackHeight = 40
const edge = 12

/** Decoration: the list below says the same. */
const Track = ({ moments }: { readonly moments: ReadonlyArray<LifeMoment> }) => {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const places = placesOf(moments.map(({ atMs }) => atMs))
  const x = (index: number) => edge + (places[index] ?? 0) * Math.max(0, width - 2 * edge)
  const y = trackHeight / 2
  return (
    <div ref={box} className="track" aria-hidden="true">
      <svg width={width} height={trackHeight}>
        <title>Timeline</title>
        {moments.slice(1).map(({ kind, atMs, number }, index) => (
          <line
            key={`${kind}-${atMs}-${number ?? ""}`}
            className={classes("track-line", kind === "next" && "track-future")}
            x1={x(index)}
            x2={x(index + 1)}
            y1={y}
            y2={y}
          />
        ))}
        {moments.map((moment, index) => (
          <circle
            key={`${moment.kind}-${moment.atMs}-${moment.number ?? ""}`}
            className={`track-dot dot-${toneOf(moment)}`}
            cx={x(index)}
            cy={y}
            r={isDueTime(moment) ? 5 : 6}
          />
        ))}
      </svg>
    </div>
  )
}

const hasSucceeded = ({ error, status }: Attempt): boolean =>
  error === undefined && (status === undefined || (status >= 200 && status < 300))

const isDueTime = ({ kind }: Pick<LifeMoment, "kind">): boolean => kind === "due" || kind === "replayed"

const toneOf = ({ kind, attempt }: LifeMoment): string => {
  if (attempt !== undefined) return hasSucceeded(attempt) ? "good" : "bad"
  return kind === "running" ? "accent" : isDueTime({ kind }) ? "due" : kind === "next" ? "next" : "plain"
}

interface MomentRowProps {
  readonly moment: LifeMoment
  readonly timer: Timer
  readonly sinceMs: number | undefined
}

const MomentRow = ({ moment, timer, sinceMs }: MomentRowProps) => {
  const { attempt, atMs } = moment
  return (
    <li className="moment">
      <span className={`moment-dot dot-${toneOf(moment)}`} />
      <div className="moment-what">
        <strong>{titleOf(moment, timer)}</strong>
        {attempt !== undefined && <AttemptResult attempt={attempt} />}
        {moment.kind === "replayed" && (
          <span className="muted">
            It had become a dead letter. The replay made it due at once, with all its attempts.
          </span>
        )}
        {isDueTime(moment) && timer.latenessMs !== undefined && (
          <span className="muted">The request was sent {durationText(timer.latenessMs)} later.</span>
        )}
      </div>
      <div className="moment-when figures">
        <Moment at={new Date(atMs).toISOString()} show="exact" />
        {sinceMs !== undefined && <span className="muted">{`+ ${durationText(Math.max(0, sinceMs))}`}</span>}
      </div>
    </li>
  )
}

const titleOf = ({ kind, number }: LifeMoment, { state }: Timer): string => {
  const titles: Readonly<Record<LifeMoment["kind"], string>> = {
    created: "Created",
    due: "Due",
    replayed: "Replayed",
    attempt: `Attempt ${number}`,
    running: `Attempt ${number} is running`,
    next: `Attempt ${number} is due`,
    end: state === "delivered" ? "Delivered" : state === "cancelled" ? "Cancelled" : "Became a dead letter",
  }
  return titles[kind]
}

const AttemptResult = ({ attempt }: { readonly attempt: Attempt }) => (
  <>
    <span className={hasSucceeded(attempt) ? "result-good" : "result-bad"}>
      {attempt.status === undefined ? "" : `Answer ${statusText(attempt.status)} `}
      <span className="muted">after {durationText(attempt.durationMs)}</span>
    </span>
    {attempt.error !== undefined && !isOnlyStatus(attempt) && (
      <span className="moment-error">{attempt.error}</span>
    )}
    {attempt.answer !== undefined && attempt.answer !== "" && (
      <details>
        <summary>The beginning of the answer</summary>
        <pre>{attempt.answer}</pre>
      </details>
    )}
  </>
)
