/** The calls of a tenant: what was asked for, and what became of it. */
import { Button } from "../../kit/Button.tsx"
import { Link } from "../../kit/Link.tsx"
import { ProblemScreen } from "../../kit/ProblemScreen.tsx"
import { changeParameters } from "../../kit/places.ts"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { useMay } from "../../kit/self.ts"
import { ApiProblem } from "../../kit/serviceCall.ts"
import { type Selection, useSelection } from "../../kit/useSelection.ts"
import type { Call } from "../agentApi.ts"
import { agentHref, useAgentPlace } from "../agentPlaces.ts"
import { CallFilters, FilterChips } from "./CallFilters.tsx"
import { CallRows, callKeyOf } from "./CallRows.tsx"
import { CallSelectionBar } from "./CallSelectionBar.tsx"
import { ChangeManyMenu } from "./ChangeManyMenu.tsx"
import { isFiltered, noFilter, searchOf } from "./callSearch.ts"
import { ExportCalls } from "./ExportCalls.tsx"
import { FirstCall } from "./FirstCall.tsx"
import { StatusCounts } from "./StatusCounts.tsx"
import { rowsMax, useCallPages } from "./useCallPages.ts"

export const CallsPage = ({ tenant }: { readonly tenant: string }) => {
  const { parameters } = useAgentPlace()
  const search = searchOf(parameters)
  const may = useMay()
  const mayWrite = may("calls.write", tenant)
  const found = useCallPages(tenant, search)
  const selection = useSelection(found.calls, callKeyOf)
  const many = {
    tenant,
    search,
    counts: found.counts,
    calls: found.calls,
    onDone: () => void found.refresh(),
  }
  return (
    <>
      <header className="page-head">
        <h1>Calls</h1>
        {mayWrite && (
          <Link className="button button-primary" href={agentHref("request", tenant)}>
            New request
          </Link>
        )}
      </header>
      <StatusCounts search={search} counts={found.counts} />
      <div className="call-tools">
        <CallFilters search={search} />
        <ExportCalls tenant={tenant} search={search} />
        {mayWrite && <ChangeManyMenu {...many} />}
      </div>
      <FilterChips search={search} />
      <section className="card" aria-label="Calls">
        <CallList
          tenant={tenant}
          found={found}
          selection={mayWrite ? selection : undefined}
          isFilteredList={isFiltered(search)}
          search={search}
        />
      </section>
      {mayWrite && <CallSelectionBar {...many} selection={selection} />}
    </>
  )
}

interface CallListProps {
  readonly tenant: string
  readonly found: ReturnType<typeof useCallPages>
  readonly search: ReturnType<typeof searchOf>
  readonly selection: Selection<Call> | undefined
  readonly isFilteredList: boolean
}

const CallList = ({ tenant, found, search, selection, isFilteredList }: CallListProps) => {
  const { calls, list, added, isGone, refresh } = found
  const clear = () => changeParameters(noFilter)
  if (list.isPending) return <Loading />
  if (list.isError && calls.length === 0) {
    return list.error instanceof ApiProblem && list.error.status === 400 ? (
      <Screen
        kind="failed"
        title="The filter is not valid"
        actions={<Button onClick={clear}>Clear the filter</Button>}
      >
        {list.error.errors.length > 0
          ? list.error.errors.map(({ pointer, detail }) => (
              <p key={pointer}>
                <code>{pointer.replace(/^\//, "")}</code> {detail}
              </p>
            ))
          : list.error.message}
      </Screen>
    ) : (
      <ProblemScreen what="The calls" error={list.error} onRetry={() => void list.refetch()} />
    )
  }
  if (calls.length === 0) {
    return isFilteredList ? (
      <Screen
        kind="noMatch"
        title="No call matches the filter"
        actions={<Button onClick={clear}>Clear the filter</Button>}
      />
    ) : (
      <FirstCall tenant={tenant} />
    )
  }
  return (
    <>
      {added > 0 && (
        <button type="button" className="new-calls" onClick={() => void refresh()}>
          {added === 1 ? "1 new call" : `${added}${added >= 100 ? "+" : ""} new calls`}
        </button>
      )}
      <CallRows
        calls={calls}
        search={search}
        isGone={isGone}
        selection={selection}
        isOld={list.isPlaceholderData}
        onEnd={() => void (list.hasNextPage && !list.isFetchingNextPage && list.fetchNextPage())}
      />
      <footer className="call-end muted figures">
        {list.error !== null && <span className="field-error">{list.error.message}</span>}
        <span>
          {list.isFetchingNextPage
            ? "Loading …"
            : `${calls.length >= rowsMax ? "The first " : ""}${calls.length.toLocaleString("en")} ${
                calls.length === 1 ? "row" : "rows"
              }${calls.length >= rowsMax ? ". Narrow the filter to see others." : ""}`}
        </span>
        {list.hasNextPage && !list.isFetchingNextPage && (
          <Button isSmall onClick={() => void list.fetchNextPage()}>
            Load more
          </Button>
        )}
      </footer>
    </>
  )
}
