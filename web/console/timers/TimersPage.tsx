/** The timers that match a search: what is due when, and in which state each one is. */
import { Button } from "../../kit/Button.tsx"
import { Link } from "../../kit/Link.tsx"
import { changeParameters } from "../../kit/places.ts"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { useMay, useReachable } from "../../kit/self.ts"
import { CancelAll } from "../bulk/CancelAll.tsx"
import { FreshButton } from "../FreshButton.tsx"
import { hrefOf, usePlace } from "../location.ts"
import { DueStrip } from "./DueStrip.tsx"
import { ExportMenu } from "./ExportMenu.tsx"
import { FirstTimer } from "./FirstTimer.tsx"
import { ListProblem, SearchProblems } from "./ListProblem.tsx"
import { RangeButton } from "./RangeButton.tsx"
import { SearchBox } from "./SearchBox.tsx"
import {
  needsNamespace,
  parseSearch,
  requestOf,
  type SearchRequest,
  searchText,
  type Word,
} from "./search.ts"
import { hostIn, searchHints, searchProblems } from "./searchHelp.ts"
import "./timers.css"
import { countText } from "../../kit/countText.ts"
import { TimerRows } from "./TimerRows.tsx"
import { useTimerCount } from "./useTimerCount.ts"
import { headRows, rowsMax, useTimerPages } from "./useTimerPages.ts"
import { stateWords } from "./words.ts"

export const TimersPage = () => {
  const { parameters } = usePlace()
  const words = parseSearch(parameters.get("q") ?? "")
  const from = parameters.get("from") ?? undefined
  const until = parameters.get("until") ?? undefined
  const may = useMay()
  const reachable = useReachable()
  const isFiltered = words.length > 0 || from !== undefined || until !== undefined
  const clear = () => changeParameters({ q: undefined, from: undefined, until: undefined })
  if (reachable === undefined) return <Loading />
  const request = requestOf(words, { from, until }, reachable)
  const problems = searchProblems(words)
  return (
    <>
      <header className="page-head">
        <h1>Timers</h1>
        {problems.length === 0 && <TimerCount request={request} />}
        {may("timers.write") && (
          <Link className="button button-primary" href={hrefOf("new")}>
            New timer
          </Link>
        )}
      </header>
      <div className="list-tools">
        <SearchBox words={words} onChange={(next) => changeParameters({ q: searchText(next) })} />
        <RangeButton
          from={from}
          until={until}
          of={problems.length > 0 || request.states.includes("pending") ? "due" : "finished"}
        />
        {problems.length === 0 && <ExportMenu request={request} name="timers" />}
        {problems.length === 0 && <CancelAll request={request} />}
      </div>
      {problems.length === 0 && !needsNamespace(request) && (
        <DueStrip request={requestOf(words, {}, reachable)} />
      )}
      <section className="card" aria-label="Timers">
        {problems.length > 0 ? (
          <SearchProblems problems={problems} onClear={clear} />
        ) : (
          <TimerList request={request} words={words} isFiltered={isFiltered} onClear={clear} />
        )}
      </section>
    </>
  )
}

const TimerCount = ({ request }: { readonly request: SearchRequest }) => {
  const data = useTimerCount(request)
  if (data === undefined) return null
  return (
    <span className="muted figures">
      {countText(data)} {data.count === 1 ? "timer" : "timers"}
    </span>
  )
}

interface TimerListProps {
  readonly request: SearchRequest
  readonly words: ReadonlyArray<Word>
  readonly isFiltered: boolean
  readonly onClear: () => void
}

const TimerList = ({ request, words, isFiltered, onClear }: TimerListProps) => {
  const isBlocked = needsNamespace(request)
  const { timers, list, examined, fresh, refresh } = useTimerPages(request, !isBlocked)
  if (isBlocked) {
    return (
      <Screen kind="noMatch" title="Choose a namespace">
        <p>
          Delivered and cancelled timers are listed by namespace. Add <code>namespace:…</code> to the search.
        </p>
      </Screen>
    )
  }
  if (list.isPending) return <Loading />
  if (list.isError && timers.length === 0) {
    return <ListProblem error={list.error} onRetry={() => void list.refetch()} onClear={onClear} />
  }
  if (timers.length === 0 && !list.hasNextPage) {
    return isFiltered ? (
      <Screen
        kind="noMatch"
        title="No timer matches the search"
        actions={
          <>
            <OtherStates request={request} words={words} />
            <HostInstead words={words} />
            <Button onClick={onClear}>Clear the search</Button>
          </>
        }
      >
        {!words.some(({ field }) => field === "state") && <p>Only pending timers were searched.</p>}
        {searchHints(words).map((hint) => (
          <p key={hint}>{hint}</p>
        ))}
        {examined > 0 && <p>{examined.toLocaleString("en")} timers were examined.</p>}
      </Screen>
    ) : (
      <FirstTimer />
    )
  }
  return (
    <>
      <FreshButton added={fresh.added} most={headRows} noun="new timer" onShow={() => void refresh()} />
      <TimerRows
        isOld={list.isPlaceholderData}
        timers={timers}
        fresh={fresh}
        onEnd={() => void (list.hasNextPage && !list.isFetchingNextPage && list.fetchNextPage())}
      />
      <ListEnd
        rows={timers.length}
        examined={examined}
        hasMore={list.hasNextPage}
        isLoading={list.isFetchingNextPage}
        error={list.error}
        onMore={() => void list.fetchNextPage()}
      />
    </>
  )
}

interface OtherStatesProps {
  readonly request: SearchRequest
  readonly words: ReadonlyArray<Word>
}

/** A search without a state finds only pending timers. The timer may have finished. */
const OtherStates = ({ request, words }: OtherStatesProps) => {
  if (words.some(({ field }) => field === "state")) return null
  const reachesAll = request.namespaces.includes("*")
  const states = reachesAll ? ["pending", "dead"] : stateWords
  const next = [...words, ...states.map((value) => ({ field: "state" as const, value }))]
  return (
    <Button look="primary" onClick={() => changeParameters({ q: searchText(next) })}>
      {reachesAll ? "Look in dead letters, too" : "Look in all states"}
    </Button>
  )
}

/** A host that was typed or pasted without its field is searched as an id, and rarely meant so. */
const HostInstead = ({ words }: { readonly words: ReadonlyArray<Word> }) => {
  const host = hostIn(words.findLast(({ field }) => field === "id")?.value ?? "")
  if (host === undefined) return null
  const next = [...words.filter(({ field }) => field !== "id"), { field: "host" as const, value: host }]
  return <Button onClick={() => changeParameters({ q: searchText(next) })}>Search host:{host}</Button>
}

interface ListEndProps {
  readonly rows: number
  readonly examined: number
  readonly hasMore: boolean
  readonly isLoading: boolean
  readonly error: Error | null
  readonly onMore: () => void
}

/** If a limit has cut the list, the reader sees it here, next to the rows. */
const ListEnd = ({ rows, examined, hasMore, isLoading, error, onMore }: ListEndProps) => {
  const shown = `${rows.toLocaleString("en")} ${rows === 1 ? "row" : "rows"}${examined > 0 ? ` of ${examined.toLocaleString("en")} examined` : ""}`
  return (
    <footer className="list-end muted figures">
      {error !== null && <span className="field-error">{error.message}</span>}
      <span>
        {isLoading
          ? "Loading …"
          : rows >= rowsMax
            ? `The first ${shown}. Narrow the search to see others.`
            : shown}
      </span>
      {hasMore && !isLoading && (
        <Button isSmall onClick={onMore}>
          {examined > 0 ? "Examine more" : "Load more"}
        </Button>
      )}
    </footer>
  )
}
