/** The dead letters of one search: groups or rows, what is selected, and what the reader does with them. */
import { useState } from "react"
import { changeParameters } from "../../kit/places.ts"
import { useMay } from "../../kit/self.ts"
import { useShortcuts } from "../../kit/shortcuts.ts"
import { toast } from "../../kit/toasts.tsx"
import { useSelection } from "../../kit/useSelection.ts"
import type { Timer } from "../api.ts"
import { BulkDialog } from "../bulk/BulkDialog.tsx"
import { deeds, numberText } from "../bulk/bulkJob.ts"
import { JobPanel } from "../bulk/JobPanel.tsx"
import { useKnownJob } from "../bulk/useBulkJob.ts"
import { useMayAct } from "../bulk/useMayAct.ts"
import { usePlace } from "../location.ts"
import type { SearchRequest, Word } from "../timers/search.ts"
import type { CountAnswer } from "../timers/useTimerCount.ts"
import { rowKey } from "../timers/useTimerPages.ts"
import { DeadList } from "./DeadList.tsx"
import type { RowTools } from "./DeadRow.tsx"
import { DisposeDialog, type Outcomes } from "./DisposeDialog.tsx"
import { type DisposeDeed, dispose } from "./dispose.ts"
import { SelectionBar } from "./SelectionBar.tsx"
import { useDeadLetters } from "./useDeadLetters.ts"

export interface DeadLettersProps {
  readonly request: SearchRequest
  readonly words: ReadonlyArray<Word>
  readonly view: "groups" | "rows"
  readonly total: CountAnswer | undefined
  readonly isFiltered: boolean
}

/** What the reader is asked before it happens. */
type Question =
  | { readonly kind: "rows"; readonly deed: DisposeDeed; readonly timers: ReadonlyArray<Timer> }
  | { readonly kind: "filter"; readonly deed: DisposeDeed; readonly request: SearchRequest }

export const DeadLetters = ({ request, words, view, total, isFiltered }: DeadLettersProps) => {
  const { parameters } = usePlace()
  const dead = useDeadLetters(request)
  const selection = useSelection(
    dead.timers.filter((timer) => !dead.isHandled(timer)),
    rowKey,
  )
  const knowJob = useKnownJob()
  const [question, setQuestion] = useState<Question>()
  const may = useMay()
  const mayAct = useMayAct()
  const mayBulk = (deed: DisposeDeed) => mayAct(deed, request)
  const jobId = parameters.get("job") ?? undefined

  const tellOutcomes = (deed: DisposeDeed, outcomes: Outcomes) => {
    const left = [...outcomes].filter(([, outcome]) => outcome !== "skipped")
    dead.markHandled(new Map(left.map(([timer, outcome]) => [timer, outcomeWords[deed][outcome]])))
    toast(outcomeText(deed, outcomes))
  }
  const act = (deed: DisposeDeed) => {
    if (!may(deeds[deed].action) || selection.rows.length === 0) return
    if (selection.isEverything) setQuestion({ kind: "filter", deed, request })
    else setQuestion({ kind: "rows", deed, timers: selection.rows })
  }
  useShortcuts({ Escape: selection.clear })
  const mayRow: RowTools["may"] = (deed, timer) =>
    !dead.isHandled(timer) && may(deeds[deed].action, timer.namespace)
  const tools: RowTools = {
    selection,
    may: mayRow,
    maySelect: (timer) => mayRow("replay", timer) || mayRow("discard", timer),
    onDispose: (deed, timer) => setQuestion({ kind: "rows", deed, timers: [timer] }),
    newStateOf: dead.newStateOf,
    onKey: (deed, timer) => {
      if (selection.rows.length > 0) act(deed)
      else if (timer === undefined) toast("Select a row first (x).")
      else if (mayRow(deed, timer)) setQuestion({ kind: "rows", deed, timers: [timer] })
    },
  }
  return (
    <>
      {jobId !== undefined && (
        <JobPanel
          jobId={jobId}
          onEnd={() => void dead.refresh()}
          onClose={() => changeParameters({ job: undefined })}
        />
      )}
      <section className="card dead-card" aria-label="Dead letters">
        <DeadList
          {...{ dead, tools, words, view, total, isFiltered, mayBulk }}
          open={parameters.get("open") ?? undefined}
          onBulk={(deed, group) =>
            setQuestion({ kind: "filter", deed, request: { ...request, ...group?.filter } })
          }
        />
      </section>
      <SelectionBar
        selection={selection}
        total={total}
        may={(deed) => may(deeds[deed].action)}
        mayBulk={mayBulk}
        onAct={act}
      />
      {question?.kind === "filter" && (
        <BulkDialog
          deed={question.deed}
          request={question.request}
          onClose={() => setQuestion(undefined)}
          onStarted={(job) => {
            setQuestion(undefined)
            selection.clear()
            knowJob(job)
            changeParameters({ job: job.jobId })
            scrollTo(0, 0)
          }}
        />
      )}
      {question?.kind === "rows" && (
        <DisposeDialog
          deed={question.deed}
          timers={question.timers}
          dispose={(timer, reason) => dispose(question.deed, timer, dead.timers, request, reason)}
          onClose={() => setQuestion(undefined)}
          onEnd={(outcomes) => {
            setQuestion(undefined)
            tellOutcomes(question.deed, outcomes)
          }}
        />
      )}
    </>
  )
}

const outcomeWords = {
  replay: {
    done: "replayed; due now",
    skipped: "skipped, because a timer with the same id is pending",
    gone: "no longer there",
  },
  discard: { done: "discarded", skipped: "skipped", gone: "no longer there" },
} as const

const outcomeText = (deed: DisposeDeed, outcomes: Outcomes): string => {
  const [[only] = []] = outcomes
  const parts = (["done", "skipped", "gone"] as const).flatMap((outcome) => {
    const count = [...outcomes.values()].filter((value) => value === outcome).length
    return count === 0 ? [] : [`${numberText(count)} ${outcomeWords[deed][outcome]}`]
  })
  if (outcomes.size !== 1 || only === undefined) return `${parts.join(". ")}.`
  const outcome = outcomes.get(only) ?? "gone"
  return `${only.namespace} / ${only.timerId}: ${outcomeWords[deed][outcome]}.`
}
