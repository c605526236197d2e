/** What a job would change: the filter in words, the count, and the first timers. */
import type { UseQueryResult } from "@tanstack/react-query"
import { countText } from "../../kit/countText.ts"
import { Moment } from "../../kit/Moment.tsx"
import type { Timer, TimerPage } from "../api.ts"
import { targetText } from "../timers/targetText.ts"
import type { CountAnswer } from "../timers/useTimerCount.ts"
import { rowKey } from "../timers/useTimerPages.ts"
import { type BulkDeed, deeds, numberText } from "./bulkJob.ts"
import { FilterWords } from "./FilterWords.tsx"
import { previewRows } from "./usePreview.ts"

export interface BulkPreviewProps {
  readonly deed: BulkDeed
  readonly filter: Readonly<Record<string, unknown>>
  readonly count: UseQueryResult<CountAnswer>
  readonly first: UseQueryResult<TimerPage>
}

export const BulkPreview = ({ deed, filter, count, first }: BulkPreviewProps) => {
  const error = count.error ?? first.error
  const timers = first.data?.timers ?? []
  return (
    <section aria-label="Preview" className="bulk-preview">
      <div className="bulk-filter">
        <FilterWords filter={filter} />
      </div>
      <p className="bulk-count figures" aria-live="polite">
        {error !== null ? (
          <span className="field-error">{error.message}</span>
        ) : count.data === undefined ? (
          "Counting …"
        ) : (
          <CountSentence deed={deed} counted={count.data} />
        )}
      </p>
      {timers.length > 0 && <PreviewRows timers={timers} />}
      {count.data !== undefined && count.data.count > timers.length && timers.length > 0 && (
        <p className="muted figures">
          {timers.length < previewRows ? "Some" : `The first ${previewRows}`} of {countText(count.data)}.
        </p>
      )}
    </section>
  )
}

const CountSentence = ({ deed, counted }: { readonly deed: BulkDeed; readonly counted: CountAnswer }) => {
  const { count, capped, examined } = counted
  const noun = deeds[deed].noun(count)
  if (count === 0 && !capped) return <>No {noun} match. There is nothing to do.</>
  if (!capped) {
    return (
      <>
        <strong>{numberText(count)}</strong> {noun} match{count === 1 ? "es" : ""}.
      </>
    )
  }
  return (
    <>
      <strong>At least {numberText(count)}</strong> {noun} match. Counting stopped
      {examined === undefined ? " there" : ` after ${numberText(examined)} timers`}. The job goes through all
      of them.
    </>
  )
}

/** Timers that something will happen to, by name. */
export const PreviewRows = ({ timers }: { readonly timers: ReadonlyArray<Timer> }) => (
  // The list scrolls, so the keyboard must reach it.
  // biome-ignore lint/a11y/noNoninteractiveTabindex: the browser scrolls only what has the focus.
  <section className="bulk-first" aria-label={`The first ${timers.length}`} tabIndex={0}>
    <ul>
      {timers.map((timer) => (
        <PreviewRow key={rowKey(timer)} timer={timer} />
      ))}
    </ul>
  </section>
)

const PreviewRow = ({ timer }: { readonly timer: Timer }) => (
  <li className="bulk-row">
    <span className="bulk-id">
      <span className="muted">{timer.namespace} / </span>
      {timer.timerId}
    </span>
    <span className="muted bulk-target">{targetText(timer)}</span>
    <span className="muted">
      <Moment at={timer.finishedAt ?? timer.fireAt ?? timer.executeAt} />
    </span>
  </li>
)
