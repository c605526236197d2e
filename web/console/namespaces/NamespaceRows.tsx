import { useState } from "react"
import { Badge } from "../../kit/Badge.tsx"
import { classes } from "../../kit/classes.ts"
import { countText } from "../../kit/countText.ts"
import { Link } from "../../kit/Link.tsx"
import { Menu } from "../../kit/Menu.tsx"
import { Moment } from "../../kit/Moment.tsx"
import { goTo } from "../../kit/places.ts"
import { useMay } from "../../kit/self.ts"
import { leaveControls, useShortcuts } from "../../kit/shortcuts.ts"
import type { NamespaceView } from "../api.ts"
import { deadLettersHref, namespaceHref, timersHref } from "./hrefs.ts"
import { PauseNamespace } from "./PauseNamespace.tsx"
import { PendingMeter } from "./PendingMeter.tsx"

export const NamespaceRows = ({ views }: { readonly views: ReadonlyArray<NamespaceView> }) => {
  const [at, setAt] = useState<number>()
  const [pausing, setPausing] = useState<NamespaceView>()
  const move = (step: number) => {
    const next = Math.max(0, Math.min(views.length - 1, (at ?? -1) + step))
    leaveControls()
    setAt(next)
    document.getElementById(rowId(next))?.scrollIntoView({ block: "nearest" })
  }
  useShortcuts({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const view = at === undefined ? undefined : views[at]
      if (view !== undefined) goTo(namespaceHref(view.namespace))
    },
    Escape: () => setAt(undefined),
  })
  return (
    <>
      <table className="table namespace-table">
        <thead>
          <tr>
            <th scope="col">Namespace</th>
            <th scope="col">Firing</th>
            <th scope="col">Pending</th>
            <th scope="col" className="number">
              Dead letters
            </th>
            <th scope="col" className="number cell-wide">
              In flight
            </th>
            <th scope="col" className="number cell-wide">
              Creates
            </th>
            <th scope="col" className="cell-wide">
              Webhooks
            </th>
            <th scope="col">
              <span className="visually-hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {views.map((view, index) => (
            <tr key={view.namespace} id={rowId(index)} className={classes(index === at && "row-at")}>
              <NamespaceCells view={view} onPause={() => setPausing(view)} />
            </tr>
          ))}
        </tbody>
      </table>
      {pausing !== undefined && <PauseNamespace view={pausing} onClose={() => setPausing(undefined)} />}
    </>
  )
}

const rowId = (index: number): string => `namespace-${index}`

interface NamespaceCellsProps {
  readonly view: NamespaceView
  readonly onPause: () => void
}

const NamespaceCells = ({ view, onPause }: NamespaceCellsProps) => {
  const { namespace, dead, maxInFlight, createsPerSecond, webhookSecrets } = view
  const may = useMay()
  const mayPause = may("namespaces.write", namespace)
  return (
    <>
      <th scope="row" className="cell-name">
        <Link href={namespaceHref(namespace)}>{namespace}</Link>
      </th>
      <td className="cell-firing">
        <FiringBadge view={view} />
      </td>
      <td className="cell-pending">
        <PendingMeter view={view} />
        <span className="cell-unit muted">pending</span>
      </td>
      <td className="number cell-dead">
        {dead.count === 0 ? (
          <span className="muted">0</span>
        ) : (
          <Link href={deadLettersHref(namespace)} className="bad">
            {countText(dead)}
          </Link>
        )}
        <span className="cell-unit muted">dead</span>
      </td>
      <td className="number cell-wide">
        {maxInFlight === undefined ? (
          <span className="muted">default</span>
        ) : (
          `≤ ${maxInFlight.toLocaleString("en")}`
        )}
      </td>
      <td className="number cell-wide">
        {createsPerSecond === undefined ? (
          <span className="muted">no limit</span>
        ) : (
          `≤ ${createsPerSecond.toLocaleString("en")} / s`
        )}
      </td>
      <td className="cell-wide">
        {webhookSecrets.length === 0 ? (
          <span className="muted">not signed</span>
        ) : webhookSecrets.length === 1 ? (
          "signed"
        ) : (
          "signed twice"
        )}
      </td>
      <td className="cell-menu">
        <Menu
          look="quiet"
          icon="more"
          label={`Actions for ${namespace}`}
          items={[
            { label: "Timers", icon: "timers", onChoose: () => goTo(timersHref(namespace)) },
            { label: "Dead letters", icon: "dead", onChoose: () => goTo(deadLettersHref(namespace)) },
            { label: "Settings", icon: "edit", onChoose: () => goTo(namespaceHref(namespace)) },
            ...(mayPause
              ? [
                  {
                    label: view.paused ? "Resume …" : "Pause …",
                    icon: view.paused ? ("play" as const) : ("pause" as const),
                    onChoose: onPause,
                  },
                ]
              : []),
          ]}
        />
      </td>
    </>
  )
}

export const FiringBadge = ({ view: { paused, pausedSince } }: { readonly view: NamespaceView }) =>
  paused ? (
    <span className="firing">
      <Badge tone="warning">paused</Badge>
      {pausedSince !== undefined && (
        <span className="muted">
          <Moment at={pausedSince} />
        </span>
      )}
    </span>
  ) : (
    <span className="muted">fires</span>
  )
