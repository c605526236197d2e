/** The dead letters as groups or as rows, or what stands in their place. A limit that cut the list is said above it. */
import { useMemo } from "react"
import { Button } from "../../kit/Button.tsx"
import { countText } from "../../kit/countText.ts"
import { changeParameters } from "../../kit/places.ts"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { Switch } from "../../kit/Switch.tsx"
import { numberText } from "../bulk/bulkJob.ts"
import { FreshButton } from "../FreshButton.tsx"
import { ListProblem } from "../timers/ListProblem.tsx"
import { searchText, type Word, withWord } from "../timers/search.ts"
import { searchHints } from "../timers/searchHelp.ts"
import type { CountAnswer } from "../timers/useTimerCount.ts"
import { headRows } from "../timers/useTimerPages.ts"
import { DeadGroups } from "./DeadGroups.tsx"
import type { RowTools } from "./DeadRow.tsx"
import { DeadRows } from "./DeadRows.tsx"
import type { DisposeDeed } from "./dispose.ts"
import { type DeadGroup, groupsOf } from "./groups.ts"
import type { useDeadLetters } from "./useDeadLetters.ts"

export interface DeadListProps {
  readonly dead: ReturnType<typeof useDeadLetters>
  readonly words: ReadonlyArray<Word>
  readonly view: "groups" | "rows"
  readonly total: CountAnswer | undefined
  readonly isFiltered: boolean
  /** The key of the group whose rows are shown. */
  readonly open: string | undefined
  readonly tools: RowTools
  readonly mayBulk: (deed: DisposeDeed) => boolean
  /** Starts a job on all that match, or on one group. */
  readonly onBulk: (deed: DisposeDeed, group?: DeadGroup) => void
}

export const clearDeadSearch = () =>
  changeParameters({ q: undefined, from: undefined, until: undefined, open: undefined })

export const DeadList = (props: DeadListProps) => {
  const { dead, words, view, isFiltered, open, tools, mayBulk, onBulk } = props
  const { timers, list, examined, fresh } = dead
  const groups = useMemo(() => groupsOf(timers), [timers])
  if (list.isPending || (view === "groups" && dead.isReading)) {
    return (
      <>
        <ListHead {...props} />
        <Loading />
      </>
    )
  }
  if (list.isError && timers.length === 0) {
    return <ListProblem error={list.error} onRetry={() => void list.refetch()} onClear={clearDeadSearch} />
  }
  if (timers.length === 0 && !dead.isCut) {
    return (
      <>
        <FreshButton
          added={fresh.added}
          most={headRows}
          noun="new dead letter"
          onShow={() => void dead.refresh()}
        />
        <NoDeadLetters isFiltered={isFiltered} examined={examined} words={words} />
      </>
    )
  }
  return (
    <>
      <FreshButton
        added={fresh.added}
        most={headRows}
        noun="new dead letter"
        onShow={() => void dead.refresh()}
      />
      <ListHead {...props} causes={groups.length} />
      {view === "rows" ? (
        <DeadRows timers={timers} tools={tools} />
      ) : (
        <DeadGroups
          groups={groups}
          open={open}
          tools={tools}
          mayBulk={mayBulk}
          onBulk={onBulk}
          onOpen={(key) => changeParameters({ open: key }, { replace: true })}
          onNarrow={({ filter }, next) =>
            changeParameters({
              q: searchText(wordsWith(words, filter)),
              view: next === "rows" ? "rows" : undefined,
              open: undefined,
            })
          }
        />
      )}
    </>
  )
}

const wordsWith = (words: ReadonlyArray<Word>, filter: DeadGroup["filter"]): ReadonlyArray<Word> =>
  filter === undefined
    ? words
    : [
        { field: "host" as const, value: filter.host },
        { field: "reason" as const, value: filter.reason },
      ].reduce<ReadonlyArray<Word>>(withWord, words)

interface NoDeadLettersProps extends Pick<DeadListProps, "isFiltered" | "words"> {
  readonly examined: number
}

const NoDeadLetters = ({ isFiltered, examined, words }: NoDeadLettersProps) =>
  isFiltered ? (
    <Screen
      kind="noMatch"
      title="No dead letter matches the search"
      actions={<Button onClick={clearDeadSearch}>Clear the search</Button>}
    >
      {searchHints(words).map((hint) => (
        <p key={hint}>{hint}</p>
      ))}
      {examined > 0 && <p>{numberText(examined)} dead letters were examined.</p>}
    </Screen>
  ) : (
    <Screen kind="empty" title="There are no dead letters">
      A timer becomes a dead letter when all its attempts have failed, when its receiver refuses it, or when
      it expires. It stays here with its payload until you replay or discard it.
    </Screen>
  )

/** How many there are, what the limit cut, and what can be done with all of them. Nothing of it while they are read. */
const ListHead = ({ causes, ...props }: DeadListProps & { readonly causes?: number }) => {
  const { view, isFiltered, mayBulk, onBulk } = props
  return (
    <header className="card-head dead-list-head">
      <Switch
        label="View"
        value={view}
        options={[
          { value: "groups", label: "By cause" },
          { value: "rows", label: "All rows" },
        ]}
        onChange={(choice) => changeParameters({ view: choice === "groups" ? undefined : choice })}
      />
      {causes !== undefined && <ListSummary {...props} causes={causes} />}
      {causes !== undefined && mayBulk("replay") && (
        <Button icon="replay" onClick={() => onBulk("replay")}>
          <span>Replay all{isFiltered && <span className="list-match"> that match</span>}</span>
        </Button>
      )}
      {causes !== undefined && mayBulk("discard") && (
        <Button icon="trash" onClick={() => onBulk("discard")}>
          <span>Discard all{isFiltered && <span className="list-match"> that match</span>}</span>
        </Button>
      )}
    </header>
  )
}

const ListSummary = ({ dead, view, total, causes }: DeadListProps & { readonly causes: number }) => {
  const { timers, list, examined, isCut, isReading } = dead
  const rows = `${numberText(timers.length)} ${timers.length === 1 ? "row" : "rows"}`
  const shown = view === "rows" ? rows : `${numberText(causes)} ${causes === 1 ? "cause" : "causes"}`
  const seen = examined > 0 ? ` (${numberText(examined)} examined)` : ""
  const of = total === undefined ? "" : ` of ${countText(total)}`
  return (
    <p className="figures muted list-summary" role="status">
      {!isCut && shown}
      {dead.handledCount > 0 && (
        <Button isSmall onClick={() => void dead.refresh()}>
          Show the list as it is now
        </Button>
      )}
      {isCut && view === "groups" && `${shown} among `}
      {isCut && list.hasNextPage && `${numberText(timers.length)}${of}${seen} so far.`}
      {isCut &&
        !list.hasNextPage &&
        `the latest ${numberText(timers.length)}${of}${seen}. Narrow the search to see others.`}
      {list.isError && <span className="field-error"> {list.error.message}</span>}
      {list.hasNextPage && !isReading && (
        <Button isSmall onClick={list.isError ? () => void list.fetchNextPage() : dead.readOn}>
          {list.isError ? "Try again" : "Examine more"}
        </Button>
      )}
    </p>
  )
}
