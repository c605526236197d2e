/** Timers that could not be delivered: what they have in common, and what to do about them. */

import { Link } from "../../kit/Link.tsx"
import { changeParameters } from "../../kit/places.ts"
import { Loading } from "../../kit/Screen.tsx"
import { useReachable } from "../../kit/self.ts"
import { toast } from "../../kit/toasts.tsx"
import { hrefOf, usePlace } from "../location.ts"
import { ExportMenu } from "../timers/ExportMenu.tsx"
import { SearchProblems } from "../timers/ListProblem.tsx"
import { RangeButton } from "../timers/RangeButton.tsx"
import { SearchBox } from "../timers/SearchBox.tsx"
import {
  type FieldName,
  fieldNames,
  parseSearch,
  requestOf,
  searchText,
  type Word,
} from "../timers/search.ts"
import { searchProblems } from "../timers/searchHelp.ts"
import { useTimerCount } from "../timers/useTimerCount.ts"
import { deadLettersText } from "../useDeadCount.ts"
import { DeadLetters } from "./DeadLetters.tsx"
import { clearDeadSearch } from "./DeadList.tsx"
import "./dead.css"

/** Dead letters have one state and no lateness. */
const names: ReadonlyArray<FieldName> = fieldNames.filter((name) => name !== "state" && name !== "late")

const isKnown = ({ field }: Word): boolean => names.includes(field)

const DeadLettersPage = () => {
  const reachable = useReachable()
  return reachable === undefined ? <Loading /> : <DeadSearch reachable={reachable} />
}

const DeadSearch = ({ reachable }: { readonly reachable: ReadonlyArray<string> }) => {
  const { parameters } = usePlace()
  const words = parseSearch(parameters.get("q") ?? "").filter(isKnown)
  const from = parameters.get("from") ?? undefined
  const until = parameters.get("until") ?? undefined
  const request = { ...requestOf(words, { from, until }, reachable), states: ["dead"] }
  const view = parameters.get("view") === "rows" ? "rows" : "groups"
  const problems = searchProblems(words)
  const count = useTimerCount(request, problems.length === 0)
  const search = (next: ReadonlyArray<Word>) => {
    const unknown = next.find((word) => !isKnown(word))
    if (unknown !== undefined) toast(`Dead letters cannot be searched by ${unknown.field}.`, true)
    changeParameters({ q: searchText(next.filter(isKnown)), open: undefined })
  }
  return (
    <>
      <header className="page-head">
        <h1>Dead letters</h1>
        {count !== undefined && <span className="muted figures">{deadLettersText(count)}</span>}
        <Link className="button" href={hrefOf("jobs")}>
          Bulk jobs
        </Link>
      </header>
      <div className="list-tools">
        <SearchBox
          words={words}
          names={names}
          label="Search dead letters"
          placeholder="Search: an id, or host:… reason:refused namespace:…"
          onChange={search}
        />
        <RangeButton from={from} until={until} of="died" />
        {problems.length === 0 && <ExportMenu request={request} name="dead-letters" />}
      </div>
      {problems.length > 0 && (
        <section className="card" aria-label="Dead letters">
          <SearchProblems problems={problems} onClear={clearDeadSearch} />
        </section>
      )}
      {problems.length === 0 && (
        <DeadLetters
          // Another search is another list: nothing of it stays selected.
          key={JSON.stringify(request)}
          request={request}
          words={words}
          view={view}
          total={count}
          isFiltered={words.length > 0 || from !== undefined || until !== undefined}
        />
      )}
    </>
  )
}

export default DeadLettersPage
