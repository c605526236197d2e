/**
 * What a page shows in place of data. The five cases look different, so that nobody takes a failure for an empty list:
 * no data yet, no match for the filter, an error, not allowed, and still loading.
 */
import { type ReactNode, useEffect, useState } from "react"
import { Icon, type IconName } from "./Icon.tsx"

export interface ScreenProps {
  readonly kind: "empty" | "noMatch" | "failed" | "forbidden"
  readonly title: string
  readonly children?: ReactNode
  readonly actions?: ReactNode
}

const icons: Readonly<Record<ScreenProps["kind"], IconName>> = {
  empty: "timers",
  noMatch: "search",
  failed: "dead",
  forbidden: "lock",
}

export const Screen = ({ kind, title, children, actions }: ScreenProps) => (
  <div className={`screen screen-${kind}`} role={kind === "failed" ? "alert" : undefined}>
    <Icon name={icons[kind]} />
    <h2>{title}</h2>
    {children !== undefined && <div className="screen-text">{children}</div>}
    {actions !== undefined && <div className="screen-actions">{actions}</div>}
  </div>
)

const quickMs = 200

/** Grey bars in place of rows. A fast answer shows none of them. */
export const Loading = ({ rows = 8 }: { readonly rows?: number }) => {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), quickMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="loading" aria-busy="true" aria-live="polite">
      {isSlow && <span className="visually-hidden">Loading</span>}
      {isSlow && Array.from({ length: rows }, (_, row) => <div key={String(row)} className="loading-row" />)}
    </div>
  )
}
