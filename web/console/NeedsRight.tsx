/** Shows a page only to readers who may see it, and tells the others why not. The service would refuse its calls. */
import type { ReactNode } from "react"
import { Loading, Screen } from "../kit/Screen.tsx"
import { type Action, useMay, useSelf } from "../kit/self.ts"

export interface NeedsRightProps {
  readonly action: Action
  /** `*`: in all namespaces, as calls about the whole service need it. */
  readonly namespace?: string
  readonly children: ReactNode
}

export const NeedsRight = ({ action, namespace, children }: NeedsRightProps) => {
  const isKnown = useSelf() !== undefined
  const may = useMay()
  if (!isKnown) return <Loading />
  if (may(action, namespace)) return children
  return (
    <Screen kind="forbidden" title="Your key may not see this">
      <p>
        It needs the action <code>{action}</code>
        {namespace === undefined
          ? ""
          : namespace === "*"
            ? " for all namespaces"
            : ` in the namespace ${namespace}`}
        . Somebody who manages keys can make one that has it.
      </p>
    </Screen>
  )
}
