/** The pending timers of a namespace, and how much of its quota they use. The count leads to them. */

import { countText } from "../../kit/countText.ts"
import { Link } from "../../kit/Link.tsx"
import { Meter } from "../../kit/Meter.tsx"
import type { NamespaceView } from "../api.ts"
import { timersHref } from "./hrefs.ts"

export const PendingMeter = ({ view }: { readonly view: NamespaceView }) => {
  const { namespace, pending, maxPending } = view
  const count = (
    <Link className="count-link" href={timersHref(namespace)}>
      {countText(pending)}
      <span className="visually-hidden"> pending timers of {namespace}</span>
    </Link>
  )
  if (maxPending === undefined) return <span className="figures">{count}</span>
  return (
    <Meter label={`Quota of pending timers of ${namespace}`} value={pending.count} max={maxPending}>
      {count} <span className="muted">of {maxPending.toLocaleString("en")}</span>
    </Meter>
  )
}
