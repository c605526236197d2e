/** One namespace: how full it is, its settings, its secrets, and whether it fires. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Badge } from "../../kit/Badge.tsx"
import { Button } from "../../kit/Button.tsx"
import { Crumbs } from "../../kit/Crumbs.tsx"
import { countText } from "../../kit/countText.ts"
import { Link } from "../../kit/Link.tsx"
import { useLiveInterval } from "../../kit/live.ts"
import { ProblemScreen } from "../../kit/ProblemScreen.tsx"
import { Loading, Screen } from "../../kit/Screen.tsx"
import { StaleBanner } from "../../kit/StaleBanner.tsx"
import { useMay } from "../../kit/self.ts"
import type { NamespaceView } from "../api.ts"
import { hrefOf, usePlace } from "../location.ts"
import { NeedsRight } from "../NeedsRight.tsx"
import { namespaceQuery } from "../useNamespace.ts"
import { deadLettersHref } from "./hrefs.ts"
import { FiringBadge } from "./NamespaceRows.tsx"
import { PauseNamespace } from "./PauseNamespace.tsx"
import { PendingMeter } from "./PendingMeter.tsx"
import "./namespaces.css"
import { SecretsCard } from "./SecretsCard.tsx"
import { SettingsCard } from "./SettingsCard.tsx"

const NamespacePage = () => {
  const name = usePlace().parameters.get("name") ?? ""
  if (name === "") {
    return (
      <Screen
        kind="noMatch"
        title="The address names no namespace"
        actions={
          <Link className="button button-plain" href={hrefOf("namespaces")}>
            Namespaces
          </Link>
        }
      />
    )
  }
  return (
    <NeedsRight action="namespaces.read" namespace={name}>
      {/* Another namespace begins with fresh forms and dialogs. */}
      <NamespaceOf key={name} name={name} />
    </NeedsRight>
  )
}

export default NamespacePage

const NamespaceOf = ({ name }: { readonly name: string }) => {
  const { data, error, refetch } = useQuery({
    ...namespaceQuery(name),
    refetchInterval: useLiveInterval(),
  })
  if (data !== undefined) return <NamespaceShown view={data.settings} error={error} />
  if (error === null) return <Loading />
  return <ProblemScreen what={`The namespace ${name}`} error={error} onRetry={() => void refetch()} />
}

interface NamespaceShownProps {
  readonly view: NamespaceView
  readonly error: Error | null
}

const NamespaceShown = ({ view, error }: NamespaceShownProps) => {
  const may = useMay()
  const [isPausing, setPausing] = useState(false)
  return (
    <>
      <Crumbs above={[{ name: "Namespaces", href: hrefOf("namespaces") }]} />
      <header className="page-head">
        <h1>{view.namespace}</h1>
        {view.paused ? <FiringBadge view={view} /> : <Badge tone="good">timers fire</Badge>}
        {may("namespaces.write", view.namespace) && (
          <Button icon={view.paused ? "play" : "pause"} onClick={() => setPausing(true)}>
            {view.paused ? "Resume …" : "Pause …"}
          </Button>
        )}
      </header>
      <StaleBanner error={error} />
      {view.pauseReason !== undefined && (
        <p className="note note-warning">
          <strong>Paused:</strong> {view.pauseReason}
        </p>
      )}
      <div className="namespace-grid">
        <SettingsCard view={view} />
        <div className="namespace-side">
          <UseCard view={view} />
          <SecretsCard view={view} />
        </div>
      </div>
      {isPausing && <PauseNamespace view={view} onClose={() => setPausing(false)} />}
    </>
  )
}

const UseCard = ({ view }: { readonly view: NamespaceView }) => (
  <section className="card" aria-labelledby="use-title">
    <header className="card-head">
      <h2 id="use-title">Timers</h2>
    </header>
    <div className="card-body">
      <dl className="facts">
        <dt>Pending</dt>
        <dd>
          <PendingMeter view={view} />
        </dd>
        <dt>Dead letters</dt>
        <dd>
          <Link
            className={view.dead.count === 0 ? "count-link" : "bad"}
            href={deadLettersHref(view.namespace)}
          >
            {countText(view.dead)}
            <span className="visually-hidden"> dead letters</span>
          </Link>
        </dd>
      </dl>
    </div>
  </section>
)
