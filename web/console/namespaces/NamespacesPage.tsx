/** All namespaces that the reader may see: how many timers each has, how full it is, and whether it fires. */
import { useRef } from "react"
import { Button } from "../../kit/Button.tsx"
import { Icon } from "../../kit/Icon.tsx"
import { Link } from "../../kit/Link.tsx"
import { ProblemScreen } from "../../kit/ProblemScreen.tsx"
import { changeParameters } from "../../kit/places.ts"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { useMay } from "../../kit/self.ts"
import { ApiProblem } from "../../kit/serviceCall.ts"
import { useShortcuts } from "../../kit/shortcuts.ts"
import { useSettled } from "../../kit/useSettled.ts"
import { hrefOf, usePlace } from "../location.ts"
import { NeedsRight } from "../NeedsRight.tsx"
import { ExportNamespaces } from "./ExportNamespaces.tsx"
import { NamespaceRows } from "./NamespaceRows.tsx"
import "./namespaces.css"
import { useNamespaceList } from "./useNamespaceList.ts"

const NamespacesPage = () => {
  const { parameters } = usePlace()
  const prefix = parameters.get("q") ?? ""
  return (
    <>
      <header className="page-head">
        <h1>Namespaces</h1>
      </header>
      <div className="list-tools">
        <PrefixSearch prefix={prefix} />
        <ExportNamespaces prefix={prefix.trim()} />
      </div>
      <section className="card" aria-label="Namespaces">
        <NeedsRight action="namespaces.read">
          <NamespaceList prefix={prefix} cursor={parameters.get("cursor") ?? undefined} />
        </NeedsRight>
      </section>
    </>
  )
}

export default NamespacesPage

const PrefixSearch = ({ prefix }: { readonly prefix: string }) => {
  const input = useRef<HTMLInputElement>(null)
  useShortcuts({ "/": () => input.current?.focus() })
  return (
    <search className="search">
      <Icon name="search" />
      <input
        ref={input}
        type="search"
        aria-label="Search namespaces by the beginning of their names"
        placeholder="Search: the beginning of a name"
        value={prefix}
        maxLength={100}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => changeParameters({ q: target.value, cursor: undefined }, { replace: true })}
        onKeyDown={({ key }) => key === "Escape" && input.current?.blur()}
      />
      <kbd className="search-key">/</kbd>
    </search>
  )
}

interface NamespaceListProps {
  readonly prefix: string
  readonly cursor: string | undefined
}

const NamespaceList = (asked: NamespaceListProps) => {
  const prefix = useSettled(asked.prefix.trim())
  const { cursor } = asked
  const list = useNamespaceList(prefix, cursor)
  if (list.isPending) return <Loading />
  if (list.isError && list.data === undefined) {
    return list.error instanceof ApiProblem &&
      list.error.errors.some(({ pointer }) => pointer === "/prefix") ? (
      <NotAName />
    ) : (
      <ProblemScreen what="The namespaces" error={list.error} onRetry={() => void list.refetch()} />
    )
  }
  const { namespaces, nextCursor } = list.data
  if (namespaces.length === 0) {
    return prefix === "" && cursor === undefined ? <NoNamespace /> : <NoMatch prefix={prefix} />
  }
  return (
    <>
      <NamespaceRows views={namespaces} />
      <Pager count={namespaces.length} cursor={cursor} nextCursor={nextCursor} error={list.error} />
    </>
  )
}

const clear = () => changeParameters({ q: undefined, cursor: undefined })

const NotAName = () => (
  <Screen
    kind="noMatch"
    title="No namespace has such a name"
    actions={<Button onClick={clear}>Clear the search</Button>}
  >
    Names have only the characters A-Z, a-z, 0-9, _ and -, and do not begin with _.
  </Screen>
)

const NoMatch = ({ prefix }: { readonly prefix: string }) => {
  const may = useMay()
  return (
    <Screen
      kind="noMatch"
      title={`No namespace begins with “${prefix}”`}
      actions={
        <>
          <Button onClick={clear}>Clear the search</Button>
          {may("namespaces.write", prefix) && (
            <Link className="button button-plain" href={hrefOf("namespace", { name: prefix })}>
              Settings of {prefix}
            </Link>
          )}
        </>
      }
    >
      A namespace need not be created: its first timer or its first setting creates it.
    </Screen>
  )
}

const NoNamespace = () => {
  const may = useMay()
  return (
    <Screen
      kind="empty"
      title="There is no namespace yet"
      actions={
        may("timers.write") && (
          <Link className="button button-primary" href={hrefOf("new")}>
            New timer
          </Link>
        )
      }
    >
      A namespace holds the timers of one tenant, with its own quotas, secrets and pause. It need not be
      created: its first timer creates it.
    </Screen>
  )
}

interface PagerProps {
  readonly count: number
  readonly cursor: string | undefined
  readonly nextCursor: string | undefined
  readonly error: Error | null
}

const Pager = ({ count, cursor, nextCursor, error }: PagerProps) => {
  const turn = (to: string | undefined) => {
    changeParameters({ cursor: to })
    scrollTo(0, 0)
  }
  return (
    <footer className="list-end muted figures">
      {error !== null && <span className="field-error">{error.message}</span>}
      <span>
        {count === 1 ? "1 namespace" : `${count} namespaces`}
        {cursor !== undefined || nextCursor !== undefined ? " on this page" : ""}, by name
      </span>
      {cursor !== undefined && (
        <Button isSmall icon="left" onClick={() => turn(undefined)}>
          First page
        </Button>
      )}
      {nextCursor !== undefined && (
        <Button isSmall onClick={() => turn(nextCursor)}>
          Next page
        </Button>
      )}
    </footer>
  )
}
