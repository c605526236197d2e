/** A part of a form that most readers do not need. Folded, it says what it holds. */
import { type ReactNode, useState } from "react"
import { Icon } from "../../kit/Icon.tsx"

export interface FoldProps {
  readonly title: string
  readonly summary: string
  /** Something in it is wrong, so it must be visible. */
  readonly isForced?: boolean
  readonly children: ReactNode
}

export const Fold = ({ title, summary, isForced = false, children }: FoldProps) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details
      className="fold"
      open={isOpen || isForced}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <Icon name="right" />
        <span className="fold-title">{title}</span>
        <span className="fold-summary muted">{summary}</span>
      </summary>
      <div className="fold-body">{children}</div>
    </details>
  )
}
